// SPDX-License-Identifier: Apache-2.0
// What an earlier run chose for a problem, on both sides, so that a later run times it and chooses
// nothing: whoever is the fastest of many is partly lucky, and luck does not come twice.
#pragma once

#include "trial/trial.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

struct EarlierChoice {
  std::string program;                            // ours
  std::map<std::string, std::string> algorithms;  // BaselineTime::algorithm, by baseline
};

// From the trials of one problem, device and mode: our fastest proven program that was timed in
// full, and of each baseline the fastest algorithm that is recorded; of several times of a program
// or an algorithm the newest counts. Nothing without such a program. Fastest by the yardstick that
// all of them have (trial/yardstick.h).
[[nodiscard]] std::optional<EarlierChoice> chosen_in(const std::vector<Trial>& trials);

}  // namespace tilewright
