// SPDX-License-Identifier: Apache-2.0
// See online.h.
#include "replay/online.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace tilewright {
namespace {

struct Found {
  double ratio = 0;  // of the best final; 0: none
  std::size_t screened = 0;
  double seconds = 0;
};

}  // namespace

Result<OnlineBench> online_bench(const std::vector<Trial>& trials,
                                 const std::vector<std::string>& runs, int resamples,
                                 std::uint64_t seed) {
  OnlineBench bench;
  std::map<std::string, std::vector<Found>> problems;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    bench.runs.push_back({.run = runs[i], .policy = {}});
    std::set<std::string> policies;
    for (const Trial& trial : trials) {
      if (trial.run != runs[i]) continue;
      policies.insert(trial.policy);
      std::vector<Found>& places = problems[trial.problem];
      places.resize(runs.size());
      Found& found = places[i];
      found.seconds += trial.total_seconds;
      if (trial.stage == "screen") ++found.screened;
      if (trial.stage == "final") found.ratio = std::max(found.ratio, trial.speedup());
    }
    if (policies.empty()) {
      return fail(ErrorCode::usage, fmt::format("--runs: no trials of a run '{}'", runs[i]),
                  "tilewright tune --run NAME names a run");
    }
    for (const std::string& policy : policies) {
      bench.runs.back().policy += (bench.runs.back().policy.empty() ? "" : ", ") + policy;
    }
  }

  Qualities qualities(runs.size());
  for (const auto& [problem, found] : problems) {
    const auto best = std::ranges::max(found, {}, &Found::ratio).ratio;
    const bool whole = std::ranges::all_of(found, [](const Found& f) { return f.ratio > 0; });
    if (best > 0) (whole ? bench.problems : bench.left_out).push_back(problem);
    if (!whole) continue;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      qualities[i].push_back({{found[i].ratio / best}});
      bench.runs[i].measured += static_cast<double>(found[i].screened);
      bench.runs[i].seconds += found[i].seconds;
    }
  }
  if (bench.problems.empty()) {
    return fail(ErrorCode::negative, "--runs: no problem has a proven winner in all of these runs");
  }
  for (OnlineRun& run : bench.runs) {
    run.measured /= static_cast<double>(bench.problems.size());
    run.seconds /= static_cast<double>(bench.problems.size());
  }
  bench.scores = score(qualities, 0, resamples, seed);
  for (std::size_t i = 0; i < runs.size(); ++i) bench.scores[i].policy = bench.runs[i].policy;
  return bench;
}

}  // namespace tilewright
