// SPDX-License-Identifier: Apache-2.0
// Policies against each other on a device: runs of `tune` over the same problems, each by one
// policy and with as many measurements. What a run found for a problem is its best final ratio to
// the fastest baseline, which is paired and so comparable from run to run where times are not.
#pragma once

#include "replay/bench.h"
#include "report/report.h"

#include <string>
#include <vector>

namespace tilewright {

struct OnlineRun {
  std::string run, policy;
  double measured = 0;  // programs screened for a problem, mean
  double seconds = 0;   // that they and the finals took for a problem, mean
};

struct OnlineBench {
  std::vector<OnlineRun> runs;        // in the order in which they were asked for
  std::vector<std::string> problems;  // with a proven winner in every run
  std::vector<std::string> left_out;  // with one in some runs only
  // By run, one budget: the run's ratio over the best that any of these runs found for a problem.
  std::vector<PolicyScore> scores;
};

// An Error names a run without a trial, and says so where the runs have no problem in common. The
// first run is the reference. Trials are of one device and mode.
[[nodiscard]] Result<OnlineBench> online_bench(const std::vector<Trial>& trials,
                                               const std::vector<std::string>& runs, int resamples,
                                               std::uint64_t seed);

// human, md or json; an Error for other formats.
[[nodiscard]] Result<std::string> render_online(const OnlineBench& bench, Format format,
                                                const Context& context);

}  // namespace tilewright
