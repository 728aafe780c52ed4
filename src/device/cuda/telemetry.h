// SPDX-License-Identifier: Apache-2.0
// What the device does while we measure: clocks, power, temperature, and why it is slower than it
// could be. NVML, opened at run time; it is only asked, no setting is ever changed.
#pragma once

#include "device/cuda/context.h"

#include <cstdint>
#include <string>

namespace tilewright::cuda {

struct Reading {
  int sm_megahertz = 0, memory_megahertz = 0;
  double watts = 0;
  int celsius = 0;
  std::uint64_t throttle = 0;  // reasons for a lower clock, see throttle_text()
};

// The reasons of a Reading in words, "power cap, thermal slowdown"; empty if there are none that
// matter: an idle device is not slow.
[[nodiscard]] std::string throttle_text(std::uint64_t reasons);

class Telemetry {
 public:
  // The device of `context`, found by its unique id. An Error if there is no NVML, or it does not
  // know the device (in some containers it does not): measuring works without.
  [[nodiscard]] static Result<Telemetry> open(const Context& context);
  // What is not known is 0.
  [[nodiscard]] Reading read() const;
  // The driver's version as its package has it, "580.82.07"; needs no device.
  [[nodiscard]] static Result<std::string> driver_version();

 private:
  struct Entries;
  const Entries* entries_ = nullptr;
  void* device_ = nullptr;
};

}  // namespace tilewright::cuda
