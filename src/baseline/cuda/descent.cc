// SPDX-License-Identifier: Apache-2.0
// See descent.h.
#include "baseline/cuda/descent.h"

namespace tilewright {

DescentResult descend(const vendor::AlgoConfig& start, const DescentSteps& steps,
                      std::set<vendor::AlgoConfig>& seen) {
  DescentResult result{start, 0, 0};
  seen.insert(start);
  bool improved = true;
  // The first improvement along one knob; true if there was one.
  const auto turn = [&](vendor::Knob knob) {
    for (const vendor::AlgoConfig& next : steps.neighbours(result.best, knob)) {
      if (steps.spent()) return false;
      if (!seen.insert(next).second) continue;
      ++result.tried;
      if (!steps.better(result.best, next)) continue;
      result.best = next;
      ++result.turns;
      return true;
    }
    return false;
  };
  while (improved && !steps.spent()) {
    improved = false;
    for (const vendor::Knob knob : vendor::kKnobs) {
      while (turn(knob)) improved = true;
    }
  }
  return result;
}

}  // namespace tilewright
