// SPDX-License-Identifier: Apache-2.0
// The decisions of a search for the fastest algorithm, apart from clocks and devices: a race of
// candidates in rounds, and a descent along the knobs. Both take what they need as functions, so
// that tests run them on invented times.
#pragma once

#include "base/error.h"
#include "vendor/algo_config.h"

#include <functional>
#include <set>
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

struct DescentSteps {
  std::function<std::vector<vendor::AlgoConfig>(const vendor::AlgoConfig&, vendor::Knob)>
      neighbours;
  // Whether the second is valid, right and faster than the first.
  std::function<bool(const vendor::AlgoConfig&, const vendor::AlgoConfig&)> better;
  std::function<bool()> spent;
};
struct DescentResult {
  vendor::AlgoConfig best;
  int tried = 0;  // calls of better()
  int turns = 0;  // of which so many led on
};

// Greedy coordinate descent: turns one knob after another, taking the first improvement and going
// on from there, until a round of all knobs brings none or the time is spent. What is in `seen` is
// not tried again.
[[nodiscard]] DescentResult descend(const vendor::AlgoConfig& start, const DescentSteps& steps,
                                    std::set<vendor::AlgoConfig>& seen);

}  // namespace tilewright
