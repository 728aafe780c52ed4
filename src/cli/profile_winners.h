// SPDX-License-Identifier: Apache-2.0
// Which trials of a run are worth a profile.
#pragma once

#include "trial/trial.h"

#include <cstddef>
#include <vector>

namespace tilewright {

// Of each problem the `top` fastest programs, each in its best trial: one that was timed in full
// before one that was screened. Problems in the order in which they first appear; programs of
// outside sources cannot be made again, so they are left out.
[[nodiscard]] std::vector<Trial> winners_of(const std::vector<Trial>& trials, std::size_t top);

}  // namespace tilewright
