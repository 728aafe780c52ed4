// SPDX-License-Identifier: Apache-2.0
// Binary -> Trial: one candidate proven and timed, whatever happens. Shared by `tune`, `bench` and
// `verify`, so that a winner re-times by the very code that found it.
#pragma once

#include "base/error.h"
#include "base/rng.h"
#include "compile/compile.h"
#include "trial/trial.h"
#include "tune/plan.h"
#include "tune/quiet_gate.h"
#include "tune/rig.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

// The baselines of a workbench.
struct WantedBaselines {
  std::vector<std::string> only{};  // names; empty: all there are
  // What an earlier run chose for some of them (BaselineTime::algorithm): taken, not searched for.
  std::map<std::string, std::string> algorithms{};
};

// The bench of one problem: its operands, references and baselines.
class Workbench {
 public:
  // An Error if the operands do not fit or the runner does not start. `mode` decides how many
  // operand sets there are.
  [[nodiscard]] static Result<std::unique_ptr<Workbench>> create(
      const Problem& problem, const Device& device, Rig& rig, QuietGate& gate, Mode mode,
      std::uint64_t seed, const WantedBaselines& wanted = {});

  // Never fails: what goes wrong with the candidate is the trial's outcome. An Error means that the
  // runner itself failed.
  [[nodiscard]] Result<Trial> evaluate(const CompileResult& built, const EvaluationPlan& plan);
  // One proof, as the first plan says, and a trial for each plan, timed one after the other. Their
  // modes may differ where they need as many operand sets (sets_for). `take` gets each trial before
  // the next is timed; false: that was the last.
  using Take = std::function<Result<bool>(Trial)>;
  [[nodiscard]] Status evaluate(const CompileResult& built, std::span<const EvaluationPlan> plans,
                                const Take& take);

  // Times candidates that have passed a screening, all in one session and in turn, so that all meet
  // the same clocks and pay once for warming up. A trial for each, in their order; none where that
  // cannot be done, and `remark` then says why if it was tried.
  [[nodiscard]] Result<std::vector<Trial>> contest(std::span<const CompileResult> built,
                                                   const EvaluationPlan& plan, std::string& remark);

  // Baselines that are present and whose results are right, headline ones first. Those that are
  // absent or wrong are explained in `remarks`.
  [[nodiscard]] const std::vector<std::string>& baselines() const { return baselines_; }
  [[nodiscard]] const std::vector<std::string>& remarks() const { return remarks_; }
  // The headline baseline that is fastest on a quick look; empty if there is none.
  [[nodiscard]] const std::string& reference() const { return reference_; }
  [[nodiscard]] const std::string& libraries() const { return libraries_; }

 private:
  Workbench(const Problem& problem, const Device& device, Rig& rig, QuietGate& gate, Mode mode,
            std::uint64_t seed);
  Status prepare(const WantedBaselines& wanted);
  Result<Opened> open_libraries(std::vector<std::string>& present);
  [[nodiscard]] std::unique_ptr<QuietGate::Quiet> quiet_while_timing(Mode mode);
  [[nodiscard]] Trial trial_of(const CompileResult& built, const EvaluationPlan& plan) const;
  // `names`: the baselines of the session.
  void time_candidate(const Opened& opened, const std::vector<std::string>& names,
                      const EvaluationPlan& plan, Trial& trial);
  void time_unpaired(const EvaluationPlan& plan, Trial& trial);
  [[nodiscard]] std::vector<int> to_check(const std::vector<int>& sets, const EvaluationPlan& plan);

  Problem problem_;
  Device device_;
  Rig& rig_;
  QuietGate& gate_;
  Mode mode_;
  std::uint64_t seed_;
  Rng chance_;  // which outputs a screening looks at
  std::unique_ptr<Stand> stand_;
  std::vector<std::string> baselines_, remarks_;
  std::set<std::string> beside_;  // baselines that are shown but are no part of "fastest"
  std::string reference_, libraries_;
};

}  // namespace tilewright
