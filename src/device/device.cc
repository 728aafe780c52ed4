// SPDX-License-Identifier: Apache-2.0
// Puts a Device together from cpuid.h and topology.h, and reads and writes its text.
#include "device/device.h"

#include "base/hash.h"
#include "device/cpuid.h"
#include "device/topology.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <exception>

namespace tilewright {
namespace {

using nlohmann::json;

std::int64_t first_known(std::initializer_list<std::int64_t> sizes) {
  for (const auto size : sizes) {
    if (size > 0) return size;
  }
  return 0;
}

// The readable part of a fingerprint: the most telling feature, best first.
constexpr std::array<std::string_view, 5> kTelling = {"amx_bf16", "avx512fp16", "avx512bf16",
                                                      "avx512f", "avx2"};

}  // namespace

bool Device::has(std::string_view feature) const {
  return std::find(isa.begin(), isa.end(), feature) != isa.end();
}

std::string Device::fingerprint() const {
  const auto telling =
      std::find_if(kTelling.begin(), kTelling.end(), [&](std::string_view f) { return has(f); });
  auto sorted = isa;
  std::sort(sorted.begin(), sorted.end());
  // The hash stands for the whole set, which would be a hundred letters long.
  return fmt::format("cpu-{}-{}-{}-{}c", silicon, telling == kTelling.end() ? "base" : *telling,
                     hash128(fmt::format("{}", fmt::join(sorted, "+"))).substr(0, 8), cores);
}

Device detect_cpu() {
  const CpuidSource source = this_cpu();
  const char* mask = std::getenv("TILEWRIGHT_ISA_MASK");
  const std::filesystem::path sysfs = "/sys/devices/system/cpu";
  Device device;
  device.name = cpu_brand(source);
  device.silicon = cpu_silicon(source);
  device.isa = cpu_features(source, mask != nullptr ? mask : "");
  device.cpus = one_cpu_per_core(sysfs, allowed_cpus());
  device.cores = static_cast<int>(device.cpus.size());
  // Some containers and hypervisors hide one source or the other; the defaults come last.
  const CpuCaches listed = sysfs_caches(sysfs, device.cpus.front());
  const CpuCaches reported = cpu_caches(source);
  device.l1d_bytes = first_known({listed.l1d_bytes, reported.l1d_bytes, device.l1d_bytes});
  device.l2_bytes = first_known({listed.l2_bytes, reported.l2_bytes, device.l2_bytes});
  device.l3_bytes = first_known({listed.l3_bytes, reported.l3_bytes, device.l3_bytes});
  return device;
}

std::string to_json(const Device& device) {
  return json{{"kind", "cpu"},
              {"name", device.name},
              {"silicon", device.silicon},
              {"isa", device.isa},
              {"cores", device.cores},
              {"cpus", device.cpus},
              {"l1d_bytes", device.l1d_bytes},
              {"l2_bytes", device.l2_bytes},
              {"l3_bytes", device.l3_bytes}}
      // A brand string is bytes of the processor's choice, not always UTF-8.
      .dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<Device> device_from_json(std::string_view text) {
  const auto refuse = [](std::string_view what) {
    return fail(ErrorCode::refused, fmt::format("not a device: {}", what));
  };
  try {
    const json value = json::parse(text);
    Device device;
    if (value.at("kind").get<std::string>() != "cpu") {
      return refuse(fmt::format("kind={} is not \"cpu\"", value.at("kind").dump()));
    }
    value.at("name").get_to(device.name);
    value.at("silicon").get_to(device.silicon);
    value.at("isa").get_to(device.isa);
    std::sort(device.isa.begin(), device.isa.end());
    device.isa.erase(std::unique(device.isa.begin(), device.isa.end()), device.isa.end());
    // get<int>() would cut 1.5 to 1 and 2^40 to 0: check before converting.
    const auto integer = [&](const json& number, std::string_view name, std::int64_t least,
                             std::int64_t most) -> Result<std::int64_t> {
      if (!number.is_number_integer() || number > most || number < least) {
        return refuse(fmt::format("{}={} is not a whole number in [{}, {}]", name, number.dump(),
                                  least, most));
      }
      return number.get<std::int64_t>();
    };
    constexpr std::int64_t kMostCpus = 1 << 20, kMostBytes = std::int64_t{1} << 50;
    const auto cores = integer(value.at("cores"), "cores", 1, kMostCpus);
    if (!cores) return tl::unexpected(cores.error());
    device.cores = static_cast<int>(*cores);
    for (const auto& entry : value.at("cpus")) {
      const auto cpu = integer(entry, "cpus", 0, kMostCpus);
      if (!cpu) return tl::unexpected(cpu.error());
      device.cpus.push_back(static_cast<int>(*cpu));
    }
    for (const auto& [name, field] :
         {std::pair{"l1d_bytes", &Device::l1d_bytes}, std::pair{"l2_bytes", &Device::l2_bytes},
          std::pair{"l3_bytes", &Device::l3_bytes}}) {
      const auto bytes = integer(value.at(name), name, 0, kMostBytes);
      if (!bytes) return tl::unexpected(bytes.error());
      device.*field = *bytes;
    }
    return device;
  } catch (const std::exception& error) {  // json::exception, which names the field or the place
    return refuse(error.what());
  }
}

}  // namespace tilewright
