// SPDX-License-Identifier: Apache-2.0
// The clock: bursts of calls, with the pauses, gaps and warm-up calls that session.h describes.
#pragma once

#include "execute/protocol.h"
#include "execute/runner/contest.h"

namespace tilewright::runner {

// Runs the plan and fills the reply's samples and uncounted time.
[[nodiscard]] Done run_bursts(Contest& contest, const std::vector<Burst>& plan, Reply& reply);

}  // namespace tilewright::runner
