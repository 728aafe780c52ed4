// SPDX-License-Identifier: Apache-2.0
// The loop: propose, generate, compile, prove, time, record, learn - until the budget is spent.
#pragma once

#include "base/error.h"
#include "measure/measure.h"
#include "policy/policy.h"
#include "record/database.h"
#include "tune/evaluate.h"
#include "tune/nearby.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

struct Budget {
  std::optional<std::chrono::milliseconds> time;  // kept to within one candidate
  std::optional<int> trials;                      // per problem
};

struct Progress {
  std::string problem;
  int problem_index = 0, problem_count = 0;
  int trials = 0, ok = 0;
  double best_us = 0, best_speedup = 0;
  double elapsed_seconds = 0, remaining_seconds = 0;  // remaining < 0: unknown
  std::string last;                                   // text of the last program and how it ended
};

struct TuneOptions {
  std::string policy = "evolve";
  LearnerPlace learner;  // of the policy lm
  Budget budget;
  Mode mode = Mode::offline;
  Effort effort = Effort::normal;
  int threads = 0;  // 0: device.cores
  std::uint64_t seed = 1;
  std::string run;               // run id
  bool resume = true;            // skip programs already recorded for this device
  std::filesystem::path runner;  // empty: beside this program
  std::filesystem::path cache_directory;
  std::string compiler, cuda_compiler;
  std::vector<std::string> baselines;                // empty: all that are available
  std::vector<Program> only;                         // nothing else is proposed; empty: no limit
  std::shared_ptr<const NearbyPrograms> begin_with;  // screened before the policy's; may be null
  bool finals = true;                                // time the best few in full
  const std::atomic<bool>* stop = nullptr;           // Ctrl-C
  std::function<void(const Progress&)> progress;     // may be empty
  std::function<void(const std::string&)> log;       // one line; may be empty
};

struct TuneResult {
  Problem problem;
  std::optional<Trial> winner;       // re-timed in pairs, stage "final"
  int trials = 0;                    // of this run
  int resumed = 0;                   // found in the database
  std::vector<std::string> skipped;  // what the budget left out, in words
  bool interrupted = false;
};

// Tunes each problem in turn; every trial is in the database before the next begins.
[[nodiscard]] Result<std::vector<TuneResult>> tune(const std::vector<Problem>& problems,
                                                   const Device& device, Database& database,
                                                   const TuneOptions& options);

}  // namespace tilewright
