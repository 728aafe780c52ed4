// SPDX-License-Identifier: Apache-2.0
// The loop for one problem: screen many programs cheaply, then re-time the best few in full.
#pragma once

#include "tune/evaluate.h"
#include "tune/tune.h"

#include <chrono>
#include <optional>
#include <string>

namespace tilewright {

// What all problems of a run share.
struct Bench {
  Compiler& compiler;
  Rig& rig;
  QuietGate& gate;
  Database& database;
  const Device& device;
  const TuneOptions& options;
  std::string host;
};

struct ProblemBudget {
  std::chrono::steady_clock::time_point start;  // of the whole run, for progress
  std::optional<std::chrono::steady_clock::time_point> deadline;
};

[[nodiscard]] Result<TuneResult> tune_problem(Bench& bench, const Problem& problem,
                                              const ProblemBudget& budget, Progress progress);

}  // namespace tilewright
