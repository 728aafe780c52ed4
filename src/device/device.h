// SPDX-License-Identifier: Apache-2.0
// What a program may rely on: one value that describes a device. It holds facts, no handles, so a
// test can invent one and a wisdom file can be checked against a device that is not present.
#pragma once

#include "base/error.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

enum class DeviceKind { cpu, cuda };

// What a CUDA device adds. `l2_bytes` and `name` of Device hold for both kinds.
struct CudaFacts {
  int ordinal = 0;                    // as the driver counts; no part of a key
  int capability = 0;                 // 90 for compute capability 9.0
  int multiprocessors = 0;            // SMs
  std::int64_t shared_per_block = 0;  // bytes that one CTA may opt in to
  std::int64_t shared_per_multiprocessor = 0;
  std::int64_t registers_per_multiprocessor = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t clock_kilohertz = 0;  // largest SM clock
  double memory_bandwidth = 0;       // bytes/s by bus width and clock
  int driver = 0;                    // CUDA version that the driver supports, 13000 for 13.0
};

struct Device {
  DeviceKind kind = DeviceKind::cpu;
  std::string name;              // marketing name: for people, never part of a key
  std::string silicon;           // vendor-family-model-stepping for a CPU: the key's first part
  std::vector<std::string> isa;  // sorted feature names: avx2 f16c fma avx512f avx512bf16 ...
  int cores = 1;                 // physical cores this process may run on; of a GPU's host
  std::vector<int> cpus;  // one logical CPU id per such core, the ones that teams are pinned to
  std::int64_t l1d_bytes = 32 << 10;  // per core
  std::int64_t l2_bytes = 1 << 20;    // per core
  std::int64_t l3_bytes = 0;          // shared; what the processor reports, 0 if none
  CudaFacts cuda;                     // kind cuda; silicon is then the chip's name and capability

  [[nodiscard]] bool has(std::string_view feature) const;
  // Key of everything measured here: silicon, isa set and core count of a CPU, silicon and SM count
  // of a CUDA device. Two names of one CPU have one fingerprint; other core counts or features have
  // another.
  [[nodiscard]] std::string fingerprint() const;
};

// This machine's CPU: CPUID, the affinity mask, cache sizes from sysfs. TILEWRIGHT_ISA_MASK (a
// comma list of feature names) hides features, to test one binary as on older processors.
[[nodiscard]] Device detect_cpu();

// Text form of a fingerprinted device for databases and wisdom, and back.
[[nodiscard]] std::string to_json(const Device& device);
[[nodiscard]] Result<Device> device_from_json(std::string_view text);

}  // namespace tilewright
