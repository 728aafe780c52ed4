// SPDX-License-Identifier: Apache-2.0
// Which trial stands for a problem when there are several: how the results of many runs merge.
#pragma once

#include "trial/trial.h"

#include <vector>

namespace tilewright {

// At most one ok, timed trial for each problem and mode, of stage "bench" or "final" (screening is
// for ordering, never for a report). The newest stands. That is the newest bench trial, unless a
// tuning run ended later: then, since a run times several finalists, the one with the best ratio
// among those of that run. Trials are in the order of their problem and mode; the result does not
// depend on the order of `trials`. All must be of one device.
[[nodiscard]] std::vector<Trial> standing_trials(const std::vector<Trial>& trials);

}  // namespace tilewright
