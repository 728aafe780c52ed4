// SPDX-License-Identifier: Apache-2.0
// The CUDA half of `tilewright doctor`. Nothing here makes a context, so nothing takes device
// memory; a library is only opened and asked for its version.
#include "cli/doctor_lines.h"

#include "base/subprocess.h"
#include "base/text.h"
#include "device/cuda/detect.h"
#include "device/cuda/libraries.h"
#include "device/cuda/telemetry.h"

#include <fmt/format.h>

#include <dlfcn.h>

#include <array>

namespace tilewright {
namespace {

DoctorLine driver_line() {
  const Result<const cuda::Driver*> driver = cuda::driver();
  if (!driver) return {"CUDA driver", false, because(driver.error())};
  const Result<std::string> package = cuda::Telemetry::driver_version();
  return {"CUDA driver", true,
          fmt::format("{}supports CUDA {}", package ? *package + ", " : "",
                      cuda::version_text((*driver)->version))};
}

DoctorLine device_line(int ordinal) {
  const std::string subject = fmt::format("cuda:{}", ordinal);
  const Result<Device> device = detect_cuda(ordinal);
  if (!device) return {subject, false, because(device.error())};
  const CudaFacts& facts = device->cuda;
  std::string text =
      fmt::format("{}, capability {}.{}, {} SMs, {} MiB, L2 {} MiB, {} KiB shared per CTA",
                  device->name, facts.capability / 10, facts.capability % 10, facts.multiprocessors,
                  facts.memory_bytes >> 20, device->l2_bytes >> 20, facts.shared_per_block >> 10);
  if (device->isa.empty()) text += "; capability 8.0 or newer is needed";
  return {subject, !device->isa.empty(), std::move(text)};
}

// A library whose version is told by `get`, which asks for part 0, 1 or 2 of it.
template <class Get>
DoctorLine library_line(const std::string& subject, std::string_view stem, const Get& get) {
  const Result<void*> library = cuda::open_library(stem);
  if (!library) return {subject, false, because(library.error())};
  const std::string version = get(*library);
  if (version.empty()) return {subject, false, "it does not tell its version; is it NVIDIA's?"};
  return {subject, true, fmt::format("{}, {}", version, cuda::path_of(*library, stem))};
}

std::string nvrtc_version(void* library) {
  auto* ask = reinterpret_cast<int (*)(int*, int*)>(dlsym(library, "nvrtcVersion"));
  int major = 0, minor = 0;
  return ask != nullptr && ask(&major, &minor) == 0 ? fmt::format("{}.{}", major, minor)
                                                    : std::string{};
}

// cublasGetProperty and cublasLtGetProperty need no handle: 0, 1, 2 are major, minor and patch
// (libraryPropertyType of library_types.h).
std::string property_version(void* library, const char* name) {
  auto* ask = reinterpret_cast<int (*)(int, int*)>(dlsym(library, name));
  std::array<int, 3> parts{};
  for (int i = 0; i < 3; ++i) {
    if (ask == nullptr || ask(i, &parts[static_cast<std::size_t>(i)]) != 0) return {};
  }
  return fmt::format("{}.{}.{}", parts[0], parts[1], parts[2]);
}

DoctorLine nvcc_line(bool needed) {
  const auto path = cuda::find_nvcc();
  if (!path) {
    return {"nvcc", !needed,
            needed ? "not found; NVRTC or a CUDA toolkit is needed to compile"
                   : "not found; not needed, NVRTC compiles"};
  }
  Command ask;
  ask.argv = {path->string(), "--version"};
  ask.limit = std::chrono::seconds(20);
  const auto done = run(ask);
  if (!done || done->exit_code != 0) {
    return {"nvcc", false, fmt::format("{} --version does not work", path->string())};
  }
  for (const std::string_view line : split(done->output, '\n')) {
    if (line.find("release") != std::string_view::npos) {
      return {"nvcc", true, fmt::format("{}, {}", trim(line), path->string())};
    }
  }
  return {"nvcc", true, path->string()};
}

}  // namespace

std::string because(const Error& error) {
  return error.hint.empty() ? error.message : fmt::format("{}; {}", error.message, error.hint);
}

std::vector<DoctorLine> cuda_lines() {
  std::vector<DoctorLine> lines = {driver_line()};
  const bool has_driver = lines.front().good;
  const int count = cuda_device_count();
  for (int ordinal = 0; ordinal < count; ++ordinal) lines.push_back(device_line(ordinal));
  if (has_driver && count == 0) {
    lines.push_back({"cuda:0", false,
                     "the driver shows no device; CUDA_VISIBLE_DEVICES may hide "
                     "some, nvidia-smi -L lists them"});
  }
  const DoctorLine nvrtc = library_line("NVRTC", "nvrtc", nvrtc_version);
  lines.push_back(nvrtc);
  lines.push_back(nvcc_line(!nvrtc.good));
  lines.push_back(library_line("cuBLAS", "cublas", [](void* library) {
    return property_version(library, "cublasGetProperty");
  }));
  lines.push_back(library_line("cuBLASLt", "cublasLt", [](void* library) {
    return property_version(library, "cublasLtGetProperty");
  }));
  const Result<std::string> nvml = cuda::Telemetry::driver_version();
  lines.push_back({"NVML", nvml.has_value(),
                   nvml ? "clocks, power and temperature are recorded"
                        : because(nvml.error()) + " (timing works without)"});
  return lines;
}

}  // namespace tilewright
