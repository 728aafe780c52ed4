// SPDX-License-Identifier: Apache-2.0
// What `bench` and `verify` work with: the compiler and the rig of a device, and the step that
// takes one candidate through proof and timing. bench_command.cc has the flags and the order.
#pragma once

#include "cli/command.h"
#include "cli/program_argument.h"
#include "tune/evaluate.h"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tilewright {

using Log = std::function<void(const std::string&)>;

struct Shop {
  explicit Shop(Compiler c) : compiler(std::move(c)) {}
  Compiler compiler;
  std::unique_ptr<Rig> rig;
  QuietGate gate;
};
// On the heap: the rig keeps a reference to the compiler.
[[nodiscard]] Result<std::unique_ptr<Shop>> open_shop(const Cli& cli, const Device& device,
                                                      const Log& log);

// How the policy of a trial begins that timed a kernel of the runtime library.
inline constexpr std::string_view kServedPolicy = "served: ";

// What to bench for a problem when no program was named: the fastest winner that is recorded, else
// what was imported, else whatever else is recorded, else the cost model's first choice.
// `database` may be null.
[[nodiscard]] Result<CandidateArgument> default_candidate(const Database* database,
                                                          const Problem& problem,
                                                          const Device& device);

struct BenchStep {
  Mode mode = Mode::offline;
  std::uint64_t seed = 1;
  bool time = true;  // false: prove only
  Effort effort = Effort::normal;
  double gap_us = 0;                   // server mode: mean of the gaps between calls; 0: the usual
  std::vector<std::string> baselines;  // only these; empty: all
  Log remark = nullptr;                // about baselines that are absent; may be empty
};
// An Error means that the runner failed; what the candidate does wrong is the trial's outcome.
[[nodiscard]] Result<Trial> bench_one(Shop& shop, const Problem& problem,
                                      const Candidate& candidate, const Device& device,
                                      const BenchStep& step);
// The same for a binary that is there already, of the program `name`.
[[nodiscard]] Result<Trial> bench_binary(Shop& shop, const Problem& problem,
                                         const std::string& name, const CompileResult& built,
                                         const Device& device, const BenchStep& step);

}  // namespace tilewright
