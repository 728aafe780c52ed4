// SPDX-License-Identifier: Apache-2.0
// What `tilewright doctor` says, a line for each thing that it looked at.
#pragma once

#include "base/error.h"
#include "device/device.h"

#include <string>
#include <vector>

namespace tilewright {

struct DoctorLine {
  std::string subject;
  bool good = false;
  std::string finding;  // what was found, or why not and what to do about it
};

// "message; hint"
[[nodiscard]] std::string because(const Error& error);

// The CUDA driver, each of its devices, and the libraries and compilers that tuning for it needs.
[[nodiscard]] std::vector<DoctorLine> cuda_lines();

// What the runtime library knows of a device, and which kernel a product there would get.
[[nodiscard]] std::vector<DoctorLine> runtime_lines(const Device& device);

}  // namespace tilewright
