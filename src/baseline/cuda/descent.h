// SPDX-License-Identifier: Apache-2.0
// The decisions of a search among cublasLt's knobs, apart from clocks and devices: a descent along
// one knob after another. It takes what it needs as functions, so that tests run it on invented
// times.
#pragma once

#include "vendor/algo_config.h"

#include <functional>
#include <set>
#include <vector>

namespace tilewright {

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
