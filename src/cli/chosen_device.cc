// SPDX-License-Identifier: Apache-2.0
// See chosen_device.h.
#include "cli/chosen_device.h"

#include "base/file.h"
#include "base/text.h"
#include "device/cuda/detect.h"
#include "device/cuda/libraries.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <filesystem>

namespace tilewright {
namespace {

constexpr std::string_view kWords = "auto, cpu, cuda, cuda:N, or the file of a described device";

// The first CUDA device, if kernels can be made and run on it. Anything less is no reason to fail:
// nobody asked for it.
std::optional<Device> usable_cuda() {
  if (cuda_device_count() == 0) return std::nullopt;
  Result<Device> device = detect_cuda(0);
  if (!device || device->isa.empty()) return std::nullopt;
  if (!cuda::open_library("nvrtc") && !cuda::find_nvcc()) return std::nullopt;
  return *std::move(device);
}

Result<ChosenDevice> from_file(const std::string& path) {
  Result<std::string> text = read_file(path);
  if (!text) return tl::unexpected(text.error());
  Result<Device> device = described_device(*text);
  if (!device) {
    return fail(device.error().code, fmt::format("{}: {}", path, device.error().message),
                "tilewright doctor --format json writes one");
  }
  return ChosenDevice{*std::move(device), true};
}

}  // namespace

Result<Device> described_device(std::string_view text) {
  // The report of `doctor` holds the device beside other things.
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_object() && !json.contains("kind") && json.contains("device")) {
    return device_from_json(json["device"].dump());
  }
  return device_from_json(text);
}

Result<ChosenDevice> chosen_device(const std::string& word) {
  if (word == "cpu") return ChosenDevice{detect_cpu(), false};
  if (word == "auto") {
    std::optional<Device> device = usable_cuda();
    return ChosenDevice{device ? *std::move(device) : detect_cpu(), false};
  }
  if (word == "cuda" || word.starts_with("cuda:")) {
    const auto ordinal = word == "cuda" ? std::optional<std::int64_t>(0)
                                        : parse_integer(std::string_view(word).substr(5));
    if (!ordinal || *ordinal < 0 || *ordinal > 1 << 16) {
      return fail(ErrorCode::usage, fmt::format("--device {}: not the number of a device", word),
                  "devices count from 0, as in cuda:0");
    }
    Result<Device> device = detect_cuda(static_cast<int>(*ordinal));
    if (!device) return tl::unexpected(device.error());
    if (device->isa.empty()) {
      return fail(ErrorCode::environment,
                  fmt::format("{} has compute capability {}.{}", device->name,
                              device->cuda.capability / 10, device->cuda.capability % 10),
                  "8.0 or newer is needed");
    }
    return ChosenDevice{*std::move(device), false};
  }
  std::error_code ignored;
  if (word.ends_with(".json") || std::filesystem::is_regular_file(word, ignored)) {
    return from_file(word);
  }
  return fail(ErrorCode::usage, fmt::format("--device: unknown device '{}'", word),
              fmt::format("{}", kWords));
}

}  // namespace tilewright
