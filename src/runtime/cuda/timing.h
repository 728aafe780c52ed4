// SPDX-License-Identifier: Apache-2.0
// A choice by timing: the kernels that may serve a description, and the vendor's library, race on
// operands of our own. An estimate is off by a fifth (rule.h), so whoever must not lose has to
// look.
#pragma once

#include "base/race.h"
#include "runtime/cuda/ladder.h"

#include <cstddef>
#include <vector>

namespace tilewright::runtime {

// Which rungs of a ladder to time for some `budget` seconds: the first of each origin, whatever it
// takes, then the others in their order while there is time for them. `calls`: of a graph.
[[nodiscard]] std::vector<std::size_t> worth_timing(const Ladder& ladder, const Call& call,
                                                    int calls, double budget);

// Sorts a ladder by what a race of rungs[picked[i]] found. The vendor's library goes first only if
// it takes less than the best kernel by more than one in two hundred; what was not timed stays
// behind in its order, but for the vendor's, which could not be run then.
void arrange(Ladder& ladder, const std::vector<std::size_t>& picked, const RaceResult& race);

// Both, with a race in between, by the device's clock and on a stream and in memory of its own.
// Waits for them. An Error, and the ladder as it was, where nothing could be timed.
[[nodiscard]] Status time_and_arrange(Ladder& ladder, const Call& call,
                                      const cuda::Context& context, double budget);

}  // namespace tilewright::runtime
