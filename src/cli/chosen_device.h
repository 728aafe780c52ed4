// SPDX-License-Identifier: Apache-2.0
// Which device a command is about: the word or file of --device.
#pragma once

#include "base/error.h"
#include "device/device.h"

#include <string>
#include <string_view>

namespace tilewright {

struct ChosenDevice {
  Device device;
  bool described = false;  // read from a file: facts of a device that need not be here
};

// `word` is auto, cpu, cuda, cuda:N, or a file as to_json(Device) or `doctor --format json` writes
// it. A CUDA device that is named and absent is an error of code environment with the fix.
[[nodiscard]] Result<ChosenDevice> chosen_device(const std::string& word);

// The device of a file's text.
[[nodiscard]] Result<Device> described_device(std::string_view text);

}  // namespace tilewright
