// SPDX-License-Identifier: Apache-2.0
// See unpaired.h.
#include "tune/unpaired.h"

#include "measure/statistics.h"

#include <fmt/format.h>

#include <algorithm>

namespace tilewright {

BaselineTime row_beside(const UnpairedTime& time, const Trial& trial) {
  constexpr double kMostSpread = 0.5;  // beyond it the interval says nothing anyway
  const double spread = std::clamp(trial.spread, 0.0, kMostSpread);
  const auto us_of = [&](double q) { return quantile(time.seconds, q) * 1e6; };
  BaselineTime row;
  row.time_us = us_of(0.5);
  row.ratio_low = us_of(0) / (trial.time_us * (1 + spread));
  row.ratio = row.time_us / trial.time_us;
  row.ratio_high = us_of(1) / (trial.time_us * (1 - spread));
  row.comparison = name_of(compare({row.ratio_low, row.ratio, row.ratio_high}, trial.noise));
  row.headline = false;
  row.choice = fmt::format("{}, unpaired", time.library);
  return row;
}

}  // namespace tilewright
