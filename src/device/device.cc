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

// The facts of a CUDA device under their names in a file, with the most that is believable.
struct IntegerFact {
  const char* name;
  std::int64_t CudaFacts::* field;
  std::int64_t most;
};
struct IntFact {
  const char* name;
  int CudaFacts::* field;
  int most;
};
constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;
constexpr std::array kIntFacts = {
    IntFact{"capability", &CudaFacts::capability, 9999},
    IntFact{"multiprocessors", &CudaFacts::multiprocessors, 1 << 16},
};
constexpr std::array kIntegerFacts = {
    IntegerFact{"shared_per_block", &CudaFacts::shared_per_block, kMostBytes},
    IntegerFact{"shared_per_multiprocessor", &CudaFacts::shared_per_multiprocessor, kMostBytes},
    IntegerFact{"registers_per_multiprocessor", &CudaFacts::registers_per_multiprocessor,
                kMostBytes},
    IntegerFact{"memory_bytes", &CudaFacts::memory_bytes, kMostBytes},
    IntegerFact{"clock_kilohertz", &CudaFacts::clock_kilohertz, kMostBytes},
};
// What does not describe the chip but this machine; a description of an absent device has none.
constexpr std::array kOptionalFacts = {
    IntFact{"ordinal", &CudaFacts::ordinal, 1 << 16},
    IntFact{"driver", &CudaFacts::driver, 1 << 30},
};

json facts_json(const CudaFacts& facts) {
  json value{{"memory_bandwidth", facts.memory_bandwidth}};
  for (const IntFact& fact : kIntFacts) value[fact.name] = facts.*fact.field;
  for (const IntegerFact& fact : kIntegerFacts) value[fact.name] = facts.*fact.field;
  for (const IntFact& fact : kOptionalFacts) value[fact.name] = facts.*fact.field;
  return value;
}

tl::unexpected<Error> not_a_device(std::string_view what) {
  return fail(ErrorCode::refused, fmt::format("not a device: {}", what));
}

// get<int>() would cut 1.5 to 1 and 2^40 to 0: checked before converting.
Result<std::int64_t> integer(const json& number, std::string_view name, std::int64_t least,
                             std::int64_t most) {
  if (!number.is_number_integer() || number > most || number < least) {
    return not_a_device(
        fmt::format("{}={} is not a whole number in [{}, {}]", name, number.dump(), least, most));
  }
  return number.get<std::int64_t>();
}

// Throws json::exception for a field that is missing.
Result<CudaFacts> facts_from(const json& value) {
  CudaFacts facts;
  for (const IntFact& fact : kIntFacts) {
    const auto number = integer(value.at(fact.name), fact.name, 1, fact.most);
    if (!number) return tl::unexpected(number.error());
    facts.*fact.field = static_cast<int>(*number);
  }
  for (const IntegerFact& fact : kIntegerFacts) {
    const auto number = integer(value.at(fact.name), fact.name, 0, fact.most);
    if (!number) return tl::unexpected(number.error());
    facts.*fact.field = *number;
  }
  for (const IntFact& fact : kOptionalFacts) {
    if (!value.contains(fact.name)) continue;
    const auto number = integer(value.at(fact.name), fact.name, 0, fact.most);
    if (!number) return tl::unexpected(number.error());
    facts.*fact.field = static_cast<int>(*number);
  }
  const json& bandwidth = value.at("memory_bandwidth");
  if (!bandwidth.is_number() || bandwidth < 0 || bandwidth > 1e18) {
    return not_a_device(
        fmt::format("memory_bandwidth={} is not bytes per second", bandwidth.dump()));
  }
  facts.memory_bandwidth = bandwidth.get<double>();
  return facts;
}

// The readable part of a fingerprint: the most telling feature, best first.
constexpr std::array<std::string_view, 5> kTelling = {"amx_bf16", "avx512fp16", "avx512bf16",
                                                      "avx512f", "avx2"};

}  // namespace

bool Device::has(std::string_view feature) const {
  return std::find(isa.begin(), isa.end(), feature) != isa.end();
}

std::string Device::fingerprint() const {
  // A chip's name and capability say what it can do; parts of one name differ in SMs.
  if (kind == DeviceKind::cuda) return fmt::format("cuda-{}-{}sm", silicon, cuda.multiprocessors);
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
  json value{{"kind", device.kind == DeviceKind::cuda ? "cuda" : "cpu"},
             {"name", device.name},
             {"silicon", device.silicon},
             {"isa", device.isa},
             {"cores", device.cores},
             {"cpus", device.cpus},
             {"l1d_bytes", device.l1d_bytes},
             {"l2_bytes", device.l2_bytes},
             {"l3_bytes", device.l3_bytes}};
  if (device.kind == DeviceKind::cuda) value["cuda"] = facts_json(device.cuda);
  // A brand string is bytes of the processor's choice, not always UTF-8.
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<Device> device_from_json(std::string_view text) {
  try {
    const json value = json::parse(text);
    Device device;
    const std::string kind = value.at("kind").get<std::string>();
    if (kind != "cpu" && kind != "cuda") {
      return not_a_device(fmt::format("kind=\"{}\" is neither \"cpu\" nor \"cuda\"", kind));
    }
    value.at("name").get_to(device.name);
    value.at("silicon").get_to(device.silicon);
    value.at("isa").get_to(device.isa);
    std::sort(device.isa.begin(), device.isa.end());
    device.isa.erase(std::unique(device.isa.begin(), device.isa.end()), device.isa.end());
    constexpr std::int64_t kMostCpus = 1 << 20;
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
    if (kind == "cuda") {
      device.kind = DeviceKind::cuda;
      const auto facts = facts_from(value.at("cuda"));
      if (!facts) return tl::unexpected(facts.error());
      device.cuda = *facts;
    }
    return device;
  } catch (const std::exception& error) {  // json::exception, which names the field or the place
    return not_a_device(error.what());
  }
}

}  // namespace tilewright
