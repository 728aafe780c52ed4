// SPDX-License-Identifier: Apache-2.0
// What `bench` and `verify` work with: the compiler and the rig of a device, and the step that
// takes one candidate through proof and timing. bench_command.cc has the flags and the order.
#pragma once

#include "cli/bench_flags.h"
#include "cli/command.h"
#include "cli/program_argument.h"
#include "trial/yardstick.h"
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

// A baseline that nobody knows would leave nothing to compare with: an error that names the flag.
[[nodiscard]] Status check_baselines(const Shop& shop, const Problem& problem,
                                     std::string_view flag, const std::vector<std::string>& names);

// What to bench for a problem when no program was named: the fastest winner that is recorded, else
// what was imported, else whatever else is recorded, else the cost model's first choice.
// `database` may be null.
[[nodiscard]] Result<CandidateArgument> default_candidate(const Database* database,
                                                          const Problem& problem,
                                                          const Device& device);

struct BenchStep {
  std::vector<BenchMode> modes;  // that need as many operand sets (sets_for)
  std::uint64_t seed = 1;
  bool time = true;  // false: prove only
  Effort effort = Effort::normal;
  double precision = 0;  // MeasureOptions, but in mode server
  WantedBaselines wanted;
  std::vector<std::string> server_baselines;  // only these in mode server; empty: all
  Log remark = nullptr;                       // about baselines that are absent; may be empty
};
// One proof of what the program `name` was built to, and a trial for each mode, given to `take`
// before the next is timed. An Error means that the runner failed; what the candidate does wrong is
// the trials' outcome.
[[nodiscard]] Status bench_one(Shop& shop, const Problem& problem, const std::string& name,
                               const CompileResult& built, const Device& device,
                               const BenchStep& step, const Workbench::Take& take);

// For people: proven, and how near the bound; or which rule it broke and how.
[[nodiscard]] std::string proof_lines(const Trial& trial);

}  // namespace tilewright
