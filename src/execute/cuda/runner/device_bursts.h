// SPDX-License-Identifier: Apache-2.0
// Timing on a device: bursts of calls, by graph, by the host, or one at a time (session.h).
#pragma once

#include "execute/cuda/runner/device_contest.h"

namespace tilewright::runner {

// How `calls` calls are cut into graphs: `full` replays of a graph of `launches`, then one of
// `rest` if that is not 0. The graph is a whole number of rounds over the sets, so that each replay
// begins where the one before it ended.
struct GraphPlan {
  int launches = 0, full = 0, rest = 0;
  friend bool operator==(const GraphPlan&, const GraphPlan&) = default;
};
[[nodiscard]] GraphPlan plan_graphs(int calls, int sets);

// Runs the plan and fills the reply's samples and uncounted time.
[[nodiscard]] Done run_bursts(DeviceContest& contest, const std::vector<Burst>& plan, Reply& reply);

}  // namespace tilewright::runner
