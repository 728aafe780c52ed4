// SPDX-License-Identifier: Apache-2.0
// A column that cannot run in the runner is timed in a process of its own, after the candidate.
// What follows from that is weaker than a pair, so it stands beside the headline and never in it.
// torch_column.h is the one there is.
#pragma once

#include "trial/trial.h"

#include <string>
#include <vector>

namespace tilewright {

struct UnpairedTime {
  std::string library;          // with its version
  std::vector<double> seconds;  // per call, one for each repeat
};

// Its row beside the times of `trial`, which must have been timed. Nothing cancels a drift between
// the two, so the interval is all of the repeats, widened by the candidate's own spread.
[[nodiscard]] BaselineTime row_beside(const UnpairedTime& time, const Trial& trial);

}  // namespace tilewright
