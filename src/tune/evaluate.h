// SPDX-License-Identifier: Apache-2.0
// Binary -> Trial: one candidate proven and timed, whatever happens. Shared by `tune`, `bench` and
// `verify`, so that a winner re-times by the very code that found it.
#pragma once

#include "base/error.h"
#include "base/rng.h"
#include "compile/compile.h"
#include "trial/trial.h"
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

// How much is measured for a decision. sweep: for many problems in little time, with wider
// intervals, few finalists, and a quarter of the usual time for the vendor library's own search.
// scout: the same search, but finals too short for a verdict, for winners that another run times.
enum class Effort { normal, sweep, scout };
[[nodiscard]] std::optional<Effort> effort_from(std::string_view name);
// Whether there are many problems, and little time for each.
[[nodiscard]] constexpr bool is_hasty(Effort effort) {
  return effort != Effort::normal;
}
[[nodiscard]] constexpr double vendor_search(Effort effort) {
  return is_hasty(effort) ? 0.25 : 1;
}

// Whether a device draws all the power it may on this problem. Its clocks then fall within a tenth
// of a second, and not as far for every program: those ahead in a burst from a cool card need not
// be ahead in the end. So finals are warm, and who stands them is found out in a contest.
[[nodiscard]] bool meets_power_cap(const Problem& problem, const Device& device);
// How many of the screened programs take turns in a contest before the finals; 0: there is none.
[[nodiscard]] std::size_t contestants(const Problem& problem, const Device& device, Mode mode);
// How many programs are measured in full.
[[nodiscard]] std::size_t finalists(Effort effort);

// The baselines of a workbench.
struct Rivals {
  std::vector<std::string> only{};  // names; empty: all there are
  // What an earlier run chose for some of them (BaselineTime::algorithm): taken, not searched for.
  std::map<std::string, std::string> algorithms{};
};

// How thoroughly: screening orders candidates cheaply, the final stage is what a report may use.
struct EvaluationPlan {
  std::string stage = "final";
  bool quick_proof = false;
  MeasureOptions measure;
  std::vector<std::string> baselines;  // names to time in pairs
  std::vector<std::string> unpaired;   // names to time afterwards, each in its own process
  bool time = true;                    // false: prove only
};
[[nodiscard]] EvaluationPlan screening_plan(const Device& device, Mode mode,
                                            const std::string& reference,
                                            Effort effort = Effort::normal);
// Several candidates in turn and one baseline beside them, warm, there and back.
[[nodiscard]] EvaluationPlan contest_plan(const Device& device, Mode mode,
                                          const std::string& reference);
[[nodiscard]] EvaluationPlan final_plan(const Problem& problem, const Device& device, Mode mode,
                                        const std::vector<std::string>& baselines,
                                        Effort effort = Effort::normal);

// The bench of one problem: its operands, references and baselines.
class Workbench {
 public:
  // An Error if the operands do not fit or the runner does not start. `mode` decides how many
  // operand sets there are.
  [[nodiscard]] static Result<std::unique_ptr<Workbench>> create(const Problem& problem,
                                                                 const Device& device, Rig& rig,
                                                                 QuietGate& gate, Mode mode,
                                                                 std::uint64_t seed,
                                                                 const Rivals& rivals = {});

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
  Status prepare(const Rivals& rivals);
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
