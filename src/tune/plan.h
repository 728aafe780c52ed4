// SPDX-License-Identifier: Apache-2.0
// How much is measured of whom: efforts, who stands a contest or a final, and the plan of each
// stage.
#pragma once

#include "measure/measure.h"

#include <cstddef>
#include <optional>
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

}  // namespace tilewright
