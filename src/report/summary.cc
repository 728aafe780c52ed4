// SPDX-License-Identifier: Apache-2.0
// Trials to the numbers of a summary.
//
// A ratio's verdict was reached when it was measured (paired rounds, an interval, the noise of the
// run); here it is only counted. Read next: render_summary.cc.
#include "report/report.h"

#include "problem/problem.h"
#include "report/groups.h"

#include <cmath>
#include <set>
#include <utility>

namespace tilewright {
namespace {

constexpr std::string_view kFastest = "fastest";
constexpr std::string_view kAll = "all";
constexpr double kBehind = 0.95;

// Whether a ratio is no loss, beyond doubt: what nobody knows to a per cent is none either way.
bool is_level(const BaselineTime& baseline) {
  constexpr double kTie = 0.99, kHalfWidth = 0.01;
  if (baseline.ratio_low > 1) return true;
  const double width = baseline.ratio_high - baseline.ratio_low;
  return baseline.ratio >= kTie && baseline.ratio_low > 0 &&
         width <= 2 * kHalfWidth * baseline.ratio;
}

// What the recorded word counts as; one that is not here is ambiguous.
constexpr std::pair<std::string_view, int RatioSummary::*> kVerdicts[] = {
    {"faster", &RatioSummary::wins},
    {"slower", &RatioSummary::losses},
    {"same", &RatioSummary::same},
};

class Group {
 public:
  void add(const std::string& problem, const BaselineTime& baseline) {
    if (!(baseline.ratio > 0) || !std::isfinite(baseline.ratio)) return;  // was not compared
    int RatioSummary::* verdict = &RatioSummary::ambiguous;
    for (const auto& [word, counter] : kVerdicts) {
      if (baseline.comparison == word) verdict = counter;
    }
    ++(counts_.*verdict);
    if (is_level(baseline)) ++counts_.level;
    if (baseline.ratio < kBehind) ++counts_.behind;
    ++counts_.problems;
    if (ratios_.empty() || baseline.ratio < counts_.worst) {
      counts_.worst = baseline.ratio;
      counts_.worst_problem = problem;
    }
    ratios_.push_back(baseline.ratio);
    counts_.headline = counts_.headline && baseline.headline;
  }

  [[nodiscard]] RatioSummary summary(std::string_view baseline, std::string group) const {
    RatioSummary out = counts_;
    out.baseline = baseline;
    out.group = std::move(group);
    out.geomean = geomean_of(ratios_);
    out.median = median_of(ratios_);
    return out;
  }
  [[nodiscard]] bool empty() const { return ratios_.empty(); }

 private:
  RatioSummary counts_;
  std::vector<double> ratios_;
};

// "fastest" sorts first, then the others by name; "all" after the dtypes.
struct Key {
  bool named;
  std::string baseline;
  bool all;
  std::string group;
  friend auto operator<=>(const Key&, const Key&) = default;
};

}  // namespace

Summary summarize(const std::vector<Trial>& winners, const std::vector<Trial>& trials) {
  Summary out;
  std::map<Key, Group> ratios;
  std::map<int, Group> decades;
  std::set<std::string> problems;
  for (const Trial& winner : winners) {
    problems.insert(winner.problem);
    if (winner.outcome != Outcome::ok) continue;
    out.programs[winner.problem] = winner.program;
    const Result<Problem> problem = parse_problem(winner.problem);
    const std::string dtype = problem ? dtype_of(*problem) : "unknown";
    const auto add = [&](bool named, const std::string& name, const BaselineTime& baseline) {
      ratios[{named, name, false, dtype}].add(winner.problem, baseline);
      ratios[{named, name, true, std::string(kAll)}].add(winner.problem, baseline);
    };
    for (const auto& [name, baseline] : winner.baselines) add(true, name, baseline);
    if (const auto* fastest = winner.fastest_baseline()) {
      add(false, std::string(kFastest), fastest->second);
      if (problem) decades[decade_of(*problem)].add(winner.problem, fastest->second);
    }
  }
  for (const auto& [key, group] : ratios) {
    if (!group.empty()) out.ratios.push_back(group.summary(key.baseline, key.group));
  }
  for (const auto& [decade, group] : decades) {
    if (group.empty()) continue;
    out.decades.push_back(group.summary(kFastest, decade_name(decade)));
  }
  for (const Trial& trial : trials) {
    ++out.outcomes[std::string(name_of(trial.outcome))];
    problems.insert(trial.problem);
  }
  for (const std::string& problem : problems) {
    if (!out.programs.contains(problem)) out.without_winner.push_back(problem);
  }
  out.problems = static_cast<int>(problems.size());
  out.trials = static_cast<int>(trials.size());
  return out;
}

}  // namespace tilewright
