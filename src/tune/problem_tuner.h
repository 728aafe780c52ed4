// SPDX-License-Identifier: Apache-2.0
// The loop for one problem: screen many programs cheaply, then re-time the best few in full.
#pragma once

#include "tune/evaluate.h"
#include "tune/tune.h"

#include <chrono>
#include <memory>
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

// One problem on its way. begin() starts to compile the first proposals, on other threads, so that
// a sweep can begin some problems before their turn; finish() measures.
class ProblemTuner {
 public:
  // The policy starts with `experience`.
  ProblemTuner(Bench& bench, const Problem& problem, std::shared_ptr<const Experience> experience);
  ~ProblemTuner();
  [[nodiscard]] Status begin();
  [[nodiscard]] Result<TuneResult> finish(const ProblemBudget& budget, Progress progress);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tilewright
