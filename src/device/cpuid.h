// SPDX-License-Identifier: Apache-2.0
// What CPUID says, decoded. The instruction itself is behind a function, so that a test can invent
// a processor: one that has AVX-512 but whose operating system does not save its registers, say.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

using CpuidRegisters = std::array<std::uint32_t, 4>;  // eax, ebx, ecx, edx

// A processor as seen through its identification instructions.
struct CpuidSource {
  std::function<CpuidRegisters(std::uint32_t leaf, std::uint32_t subleaf)> cpuid;
  std::uint64_t xcr0 = 0;      // register state that the operating system saves (XGETBV)
  bool amx_permitted = false;  // Linux hands out AMX tile state on request: is it there to ask for?
};

struct CpuCaches {
  std::int64_t l1d_bytes = 0, l2_bytes = 0, l3_bytes = 0;  // 0: not said
};

// The CPU that runs the caller.
[[nodiscard]] CpuidSource this_cpu();

[[nodiscard]] std::string cpu_silicon(const CpuidSource& source);  // genuineintel-6-143-8
[[nodiscard]] std::string cpu_brand(const CpuidSource& source);
[[nodiscard]] CpuCaches cpu_caches(const CpuidSource& source);
// Sorted names of the usable features. `mask` is a comma list of features to hide; what builds on
// a hidden feature is hidden with it, so `avx512f` hides all of AVX-512.
[[nodiscard]] std::vector<std::string> cpu_features(const CpuidSource& source,
                                                    std::string_view mask = {});

}  // namespace tilewright
