// SPDX-License-Identifier: Apache-2.0
// See detect.h.
#include "device/cuda/detect.h"

#include "device/topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tilewright {
namespace {

// A capability that a feature word stands for: from `least` to `most`. Instructions of sm_90a are
// of that generation only; later ones have others instead (PTX ISA, "Target architecture").
struct FeatureRow {
  std::string_view word;
  int least, most;
};
constexpr std::array kFeatures = {FeatureRow{"sm80", 80, 9999}, FeatureRow{"sm90a", 90, 99}};

}  // namespace

std::string cuda_silicon(std::string_view name, int capability) {
  std::string slug;
  for (const char c : name) {
    const bool digit = c >= '0' && c <= '9', lower = c >= 'a' && c <= 'z';
    if (c >= 'A' && c <= 'Z') {
      slug += static_cast<char>(c - 'A' + 'a');
    } else if (digit || lower) {
      slug += c;
    } else if (!slug.empty() && slug.back() != '-') {
      slug += '-';
    }
  }
  while (!slug.empty() && slug.back() == '-') slug.pop_back();
  if (!slug.starts_with("nvidia")) slug = slug.empty() ? "nvidia" : "nvidia-" + slug;
  return fmt::format("{}-sm_{}", slug, capability);
}

std::vector<std::string> cuda_features(int capability) {
  std::vector<std::string> words;
  for (const FeatureRow& row : kFeatures) {
    if (capability >= row.least && capability <= row.most) words.emplace_back(row.word);
  }
  std::ranges::sort(words);
  return words;
}

int cuda_device_count() {
  const Result<const cuda::Driver*> driver = cuda::driver();
  int count = 0;
  return driver && (*driver)->DeviceGetCount(&count) == cuda::kSuccess ? count : 0;
}

Result<Device> detect_cuda(int ordinal) {
  const Result<const cuda::Driver*> driver = cuda::driver();
  if (!driver) return tl::unexpected(driver.error());
  return detect_cuda(**driver, ordinal);
}

Result<Device> detect_cuda(const cuda::Driver& driver, int ordinal) {
  int count = 0;
  if (Status s = driver.check(driver.DeviceGetCount(&count), "counting CUDA devices"); !s) {
    return tl::unexpected(s.error());
  }
  if (ordinal < 0 || ordinal >= count) {
    return fail(ErrorCode::environment,
                count == 0
                    ? fmt::format("CUDA device {}: the driver shows no device", ordinal)
                    : fmt::format("CUDA device {}: there are {}, counted from 0", ordinal, count),
                "nvidia-smi -L lists them; CUDA_VISIBLE_DEVICES may hide some");
  }
  const std::string what = fmt::format("asking for CUDA device {}", ordinal);
  cuda::DeviceId id = 0;
  std::array<char, 256> name{};
  std::size_t bytes = 0;
  for (const cuda::Code status :
       {driver.DeviceGet(&id, ordinal),
        driver.DeviceGetName(name.data(), static_cast<int>(name.size()) - 1, id),
        driver.DeviceTotalMem(&bytes, id)}) {
    if (Status s = driver.check(status, what); !s) return tl::unexpected(s.error());
  }
  // An attribute that this driver does not know counts as 0.
  const auto attribute = [&](cuda::Attribute which) -> std::int64_t {
    int value = 0;
    return driver.DeviceGetAttribute(&value, which, id) == cuda::kSuccess ? value : 0;
  };
  Device device;
  device.kind = DeviceKind::cuda;
  device.name = name.data();
  CudaFacts& facts = device.cuda;
  facts.ordinal = ordinal;
  facts.capability =
      static_cast<int>(10 * attribute(cuda::kCapabilityMajor) + attribute(cuda::kCapabilityMinor));
  facts.multiprocessors = static_cast<int>(attribute(cuda::kMultiprocessors));
  facts.shared_per_block = attribute(cuda::kSharedBytesPerBlockOptIn);
  facts.shared_per_multiprocessor = attribute(cuda::kSharedBytesPerMultiprocessor);
  facts.registers_per_multiprocessor = attribute(cuda::kRegistersPerMultiprocessor);
  facts.memory_bytes = static_cast<std::int64_t>(bytes);
  facts.clock_kilohertz = attribute(cuda::kClockKilohertz);
  // Two transfers per clock on every memory that these devices have.
  facts.memory_bandwidth = 2.0 * 1e3 * static_cast<double>(attribute(cuda::kMemoryClockKilohertz)) *
                           static_cast<double>(attribute(cuda::kMemoryBusBits)) / 8;
  facts.driver = driver.version;
  device.silicon = cuda_silicon(device.name, facts.capability);
  device.isa = cuda_features(facts.capability);
  device.l1d_bytes = 0;  // the same memory as the shared one, of which the facts tell
  device.l2_bytes = attribute(cuda::kL2Bytes);
  // The host's cores, for what runs beside the device: references, compilers.
  device.cpus = one_cpu_per_core("/sys/devices/system/cpu", allowed_cpus());
  device.cores = std::max(1, static_cast<int>(device.cpus.size()));
  return device;
}

}  // namespace tilewright
