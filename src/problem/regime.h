// SPDX-License-Identifier: Apache-2.0
// What limits a product on a GPU, and how fast it could be at best.
//
// Regimes divide all shapes: each has one owner among the kernels (policy/experts_cuda.cc) and one
// line in a report. What fills the multiprocessors decides, so the device is asked.
#pragma once

#include "device/device.h"
#include "problem/problem.h"

#include <array>
#include <optional>
#include <string_view>

namespace tilewright {

enum class Regime {
  tiny,    // at most 1e8 FLOP and K <= 2048: the fixed costs of a launch
  few,     // tiles of 64 x 64 do not fill the device, K < 1024
  split,   // the same with more K: splitting it fills the device
  middle,  // tiles of 64 x 64 fill it, of 128 x 256 do not
  thin,    // 128 x 256 fill it, K <= 512: C is most of the traffic
  big,     // the rest: limited by power
  narrow,  // M or N of at most 32, and not tiny: the matrix of the other is read once, from memory
};
inline constexpr std::array<Regime, 7> kRegimes = {Regime::tiny,   Regime::few,  Regime::split,
                                                   Regime::middle, Regime::thin, Regime::big,
                                                   Regime::narrow};

[[nodiscard]] std::string_view name_of(Regime regime);
// Full: two thirds of the multiprocessors have a tile.
[[nodiscard]] Regime regime_of(const Problem& problem, int multiprocessors);

// The rates that a device sustains: what the simplest model of a limit needs.
struct SustainedRates {
  int multiprocessors = 0;
  double launch_us = 0;     // a kernel that reads and writes one element per thread
  double flop_per_us = 0;   // of f16 products under a lasting load
  double bytes_per_us = 0;  // of memory
};
// None for a CPU, and for a GPU whose rates were never measured.
[[nodiscard]] std::optional<SustainedRates> sustained_rates(const Device& device);

// launch_us, and the longer of arithmetic and traffic (A, B and C once each). No proof that nothing
// is faster: operands that stay in L2 may be.
[[nodiscard]] double limit_us(const Problem& problem, const SustainedRates& rates);

}  // namespace tilewright
