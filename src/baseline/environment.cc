// SPDX-License-Identifier: Apache-2.0
// The tables behind environment.h. docs/measurement.md has the reasons and the numbers.
#include "baseline/environment.h"

#include "base/python.h"
#include "baseline/baseline.h"
#include "baseline/openblas_api.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace tilewright {
namespace {

struct Setting {
  const char* key;
  const char* value;
};
// Idle threads spin for well under a millisecond, then sleep: long enough to stay awake between
// the calls of a burst, short enough to be gone when the settle pause ends.
constexpr std::array kSettings = {
    Setting{"OPENBLAS_THREAD_TIMEOUT", "20"},  // 2^20 ticks of the time stamp counter
    Setting{"GOMP_SPINCOUNT", "10000"},        // pauses; outranks OMP_WAIT_POLICY in libgomp
    Setting{"KMP_BLOCKTIME", "1"},             // milliseconds (Intel's and LLVM's OpenMP)
    Setting{"OMP_DYNAMIC", "false"},           // as many threads as asked for
    Setting{"OMP_PROC_BIND", "false"},         // PoolScope pins, so that all libraries agree
};

// The mark of a process that was started with all this: there is nothing left to find out.
constexpr Setting kMark = {"TILEWRIGHT_BASELINE_ENVIRONMENT", "1"};

struct CoreTypes {
  const char* feature;  // of the device
  const char* vendor;   // prefix of Device::silicon; "" fits all
  std::array<std::string_view, 5> types;
};
// Narrower vectors than the device's are a rigged baseline. AMD's first AVX-512 cores multiply as
// fast in 256-bit halves, and OpenBLAS uses its Zen kernels there.
constexpr std::array kCoreTypes = {
    CoreTypes{"avx512f", "authenticamd", {"SkylakeX", "Cooperlake", "SapphireRapids", "Zen"}},
    CoreTypes{"avx512f", "", {"SkylakeX", "Cooperlake", "SapphireRapids"}},
    CoreTypes{"avx2", "", {"Haswell", "Zen", "SkylakeX", "Cooperlake", "SapphireRapids"}},
};

const CoreTypes* core_types(const Device& device) {
  const auto* row = std::ranges::find_if(kCoreTypes, [&](const CoreTypes& types) {
    return device.has(types.feature) && device.silicon.starts_with(types.vendor);
  });
  return row == kCoreTypes.end() ? nullptr : row;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string{} : std::string(value);
}

// Where oneDNN 3 lies among Python's files, or empty. Found once: it does not move while we run,
// and asking an interpreter takes tens of milliseconds.
const std::string& onednn_of_python() {
  static const std::string found = [] {
    std::vector<std::string> prefixes = active_python_prefixes();
    prefixes.push_back(python3_prefix());  // wheels put shared libraries in <prefix>/lib
    for (const std::string& prefix : prefixes) {
      if (prefix.empty()) continue;
      const auto path = std::filesystem::path(prefix) / "lib" / "libdnnl.so.3";
      std::error_code ignored;
      if (std::filesystem::exists(path, ignored)) return path.string();
    }
    return std::string{};
  }();
  return found;
}

}  // namespace

std::vector<std::string> onednn_places(int major) {
  const std::string soname = fmt::format("libdnnl.so.{}", major);
  if (major != 3) return {soname};
  if (const std::string chosen = variable("TILEWRIGHT_ONEDNN"); !chosen.empty()) {
    std::error_code ignored;
    const std::filesystem::path path(chosen);
    if (std::filesystem::is_directory(path, ignored)) return {(path / soname).string()};
    return {path.string()};
  }
  std::vector<std::string> places = {soname};
  if (!onednn_of_python().empty()) places.push_back(onednn_of_python());
  return places;
}

std::string rigging_variable() {
  for (const std::string_view name : kRiggingVariables) {
    const std::string value = variable(std::string(name).c_str());
    if (!value.empty()) return fmt::format("{}={}", name, value);
  }
  return {};
}

bool core_type_fits(std::string_view core_type, const Device& device) {
  const CoreTypes* row = core_types(device);
  return row == nullptr || (!core_type.empty() && std::ranges::count(row->types, core_type) > 0);
}

std::string_view best_core_type(const Device& device) {
  const CoreTypes* row = core_types(device);
  return row == nullptr ? std::string_view{} : row->types.front();
}

bool openblas_core_type_is_chosen() {
  return !variable("OPENBLAS_CORETYPE").empty();
}

std::string wrong_core_type(std::string_view core_type, const Device& device) {
  const std::string fix =
      openblas_core_type_is_chosen()
          ? fmt::format("unset OPENBLAS_CORETYPE (it is {})", variable("OPENBLAS_CORETYPE"))
          : fmt::format("set OPENBLAS_CORETYPE={}", best_core_type(device));
  return fmt::format("OpenBLAS runs its {} kernels, which waste this processor; {}", core_type,
                     fix);
}

std::vector<std::string> baseline_environment(const Device& device) {
  std::vector<std::string> result = {fmt::format("{}={}", kMark.key, kMark.value)};
  for (const Setting& setting : kSettings) {
    result.push_back(fmt::format("{}={}", setting.key, setting.value));
  }
  // OpenBLAS knows processors by model number; one that is newer than it gets its oldest kernels,
  // four to five times slower. Then we ask for the kernels that the features allow.
  if (!openblas_core_type_is_chosen()) {
    const OpenblasFacts& facts = openblas_facts();
    if (facts.found && !core_type_fits(facts.core_type, device)) {
      result.push_back(fmt::format("OPENBLAS_CORETYPE={}", best_core_type(device)));
    }
  }
  const std::string onednn = variable("TILEWRIGHT_ONEDNN").empty() ? onednn_of_python() : "";
  if (!onednn.empty()) result.push_back("TILEWRIGHT_ONEDNN=" + onednn);
  // The wheel's oneDNN computes through SYCL on OpenCL's CPU device, whose driver lies beside it.
  const std::string place = onednn_places(3).back();
  const auto driver = std::filesystem::path(place).parent_path() / "libintelocl.so";
  std::error_code ignored;
  if (variable("OCL_ICD_FILENAMES").empty() && std::filesystem::exists(driver, ignored)) {
    result.push_back("OCL_ICD_FILENAMES=" + driver.string());
  }
  return result;
}

void apply_baseline_environment(const Device& device) {
  if (variable(kMark.key) == kMark.value) return;
  for (const std::string& entry : baseline_environment(device)) {
    const auto equals = entry.find('=');
    setenv(entry.substr(0, equals).c_str(), entry.substr(equals + 1).c_str(), 0);
  }
}

}  // namespace tilewright
