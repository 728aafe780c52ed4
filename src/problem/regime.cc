// SPDX-License-Identifier: Apache-2.0
// See regime.h.
#include "problem/regime.h"

#include <algorithm>

namespace tilewright {
namespace {

constexpr double kTinyFlop = 1e8;
constexpr double kFull = 2.0 / 3;
constexpr std::int64_t kNarrow = 32;
constexpr std::int64_t kThin = 512;
constexpr std::int64_t kLong = 1024;
// An H200 SXM of 132 multiprocessors at 1980 MHz: 0.9 us; no product of 1,000 shapes ran above 705
// TFLOP/s for long (power); 4.3 of 4.8 TB/s.
constexpr double kLaunchUs = 0.9;
constexpr double kFlopPerCycle = 705e12 / (132 * 1.98e9);  // of a multiprocessor, capability 9.0
constexpr double kOfBandwidth = 4.3 / 4.8;

constexpr std::array<std::string_view, 7> kNames = {"tiny", "few", "split", "middle",
                                                    "thin", "big", "narrow"};

}  // namespace

std::string_view name_of(Regime regime) {
  return kNames[static_cast<std::size_t>(regime)];
}

Regime regime_of(const Problem& p, int multiprocessors) {
  const double full = kFull * std::max(1, multiprocessors);
  const auto fills = [&](std::int64_t rows, std::int64_t columns) {
    const std::int64_t down = (p.m + rows - 1) / rows, across = (p.n + columns - 1) / columns;
    return static_cast<double>(down) * static_cast<double>(across) * static_cast<double>(p.batch) >=
           full;
  };
  if (p.flop() <= kTinyFlop && p.k <= 4 * kThin) return Regime::tiny;
  if (std::min(p.m, p.n) <= kNarrow) return Regime::narrow;
  if (!fills(64, 64)) return p.k >= kLong ? Regime::split : Regime::few;
  if (std::min(p.m, p.n) < 128 || !fills(128, 256)) return Regime::middle;
  return p.k <= kThin ? Regime::thin : Regime::big;
}

std::optional<SustainedRates> sustained_rates(const Device& device) {
  const CudaFacts& cuda = device.cuda;
  if (device.kind != DeviceKind::cuda || cuda.capability != 90) return std::nullopt;
  return SustainedRates{
      cuda.multiprocessors, kLaunchUs,
      kFlopPerCycle * cuda.multiprocessors * static_cast<double>(cuda.clock_kilohertz) * 1e-3,
      kOfBandwidth * cuda.memory_bandwidth * 1e-6};
}

double limit_us(const Problem& problem, const SustainedRates& rates) {
  return rates.launch_us +
         std::max(problem.flop() / rates.flop_per_us, problem.bytes() / rates.bytes_per_us);
}

}  // namespace tilewright
