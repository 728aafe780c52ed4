// SPDX-License-Identifier: Apache-2.0
// The flags of `bench` and `verify`, and what follows from them alone.
#pragma once

#include "cli/command.h"
#include "cli/problem_flags.h"
#include "cli/program_argument.h"
#include "measure/measure.h"
#include "runtime/backend.h"

#include <string>
#include <vector>

namespace tilewright {

struct BenchFlags {
  ProblemFlags problems;
  CandidateArgument candidate;
  std::vector<std::string> modes = {"offline"};
  std::vector<std::string> baselines, server_baselines;
  std::string format = "human", run, effort = "normal", chosen_in, choice = "both";
  runtime::Options library;  // --served
  bool time = true, fresh = false, served = false;
  std::vector<double> gaps_us;  // empty: the usual
  double precision = 0;         // per cent; 0: as many rounds as the effort has
};

// Those of `bench` that `verify` has not.
void declare_timing_flags(CLI::App& command, BenchFlags& flags);

// One way to measure.
struct BenchMode {
  Mode mode = Mode::offline;
  double gap_us = 0;  // server mode: mean of the gaps between calls; 0: the usual
  std::string name;   // as records call it (recorded_mode)
};
// --mode, mode server once for each --gap-us.
[[nodiscard]] Result<std::vector<BenchMode>> modes_of(const BenchFlags& flags,
                                                      const Device& device);

// The same command twice is one run. Problems and modes stay out, so that a longer suite or another
// mode continues it too.
[[nodiscard]] std::string run_id(const BenchFlags& flags, const Cli& cli);

}  // namespace tilewright
