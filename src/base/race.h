// SPDX-License-Identifier: Apache-2.0
// Who of several is fastest, in rounds: the decisions of a race apart from clocks and devices,
// which it takes as functions, so that tests run it on invented times.
#pragma once

#include "base/error.h"

#include <functional>
#include <vector>

namespace tilewright {

struct RaceRules {
  int least_rounds = 3, most_rounds = 15;
  // After least_rounds, no new round begins once this is spent. Fewer rounds would decide on noise.
  double budget_seconds = 0.15;
  // Who is slower than this times the fastest median leaves: after the first round, which does not
  // count otherwise (it warms up), and after each later one.
  double first_keep = 1.5, keep = 1.1;
};

struct RaceResult {
  std::vector<double> medians;  // seconds per call of each; infinite for one that failed
  std::vector<int> order;       // indices, fastest first, without those that failed
  int rounds = 0;               // that counted
};

// Times `count` candidates in rounds, in each of which every one that is still in the race runs
// once: a drift of the clocks then meets them all. `time_once(i)` is seconds per call; an Error
// takes the candidate out. `now()` is in seconds.
[[nodiscard]] RaceResult race(int count, const std::function<Result<double>(int)>& time_once,
                              const std::function<double()>& now, const RaceRules& rules);

}  // namespace tilewright
