// SPDX-License-Identifier: Apache-2.0
// Data before and checks after each timed round; see timed.h.
#include "verify/timed.h"

#include "verify/operation.h"

#include <fmt/format.h>

#include <set>
#include <utility>

namespace tilewright {

TimedOutputs::TimedOutputs(Ground& ground, std::uint64_t seed)
    : ground_(ground),
      problem_(ground.problem()),
      seed_(seed),
      beta_(static_cast<double>(timed_beta(problem_))) {}

// A C that is accumulated into by thousands of timed calls must stay finite in f16.
DataKind TimedOutputs::kind() const {
  return problem_.beta == BetaClass::one ? DataKind::damped : DataKind::normal;
}

Finding TimedOutputs::trusted(Finding finding) const {
  Finding trouble = ground_.trouble();
  return trouble.ok() ? std::move(finding) : std::move(trouble);
}

void TimedOutputs::arm() {
  ground_.paint_guards();
  ground_.scrub_workspace(seed_);
  for (int set = 0; set < ground_.sets(); ++set) {
    const std::uint64_t seed = seed_ + ++draws_;
    ground_.draw(set, kind(), seed);
    fill_c(set, seed);
  }
  ground_.settle();
}

void TimedOutputs::refresh() {
  for (int set = 0; set < ground_.sets(); ++set) {
    const std::uint64_t seed = seed_ + ++draws_;
    ground_.draw_a(set, kind(), seed);
    // Where C is read, what it holds at the start of a round decides what it holds at the end.
    if (beta_ != 0) fill_c(set, seed);
  }
  ground_.settle();
}

void TimedOutputs::fill_c(int set, std::uint64_t seed) {
  ground_.fill_c(set, kind() == DataKind::damped ? Fill::damped : Fill::plausible, seed);
  ground_.fill_baseline_c(set, ~seed, kind());
  if (beta_ != 0) ground_.start_round(set, seed_ + static_cast<std::uint64_t>(set));
}

Finding TimedOutputs::check(const std::vector<int>& ran) {
  if (Finding finding = trusted(ground_.all_intact()); !finding.ok()) return finding;
  for (const int set : std::set<int>(ran.begin(), ran.end())) {
    if (Finding finding = trusted(check_set(set)); !finding.ok()) return finding;
  }
  return {};
}

Finding TimedOutputs::check_set(int set) {
  const Ground::Weighing weighing =
      ground_.weigh_present(set, beta_, seed_ + static_cast<std::uint64_t>(set));
  if (weighing.off) {
    return {
        Outcome::wrong, "timed-outputs",
        fmt::format("operand set {}, {}: {}", set, weighed_what(problem_), weighing.off->text())};
  }
  if (set != 0) return {};
  const Agreement agreement =
      ground_.compare_present(0, {1, beta_, weighing.calls}, seed_ + draws_, Depth::brief);
  if (!agreement.first) return {};
  return {Outcome::wrong, "timed-outputs",
          fmt::format("operand set {}: {}", set, agreement.first->text())};
}

Finding TimedOutputs::replay(const Caller& caller) {
  // Under beta = 0 over NaN; where C is always read, over fresh numbers.
  const bool reads = problem_.beta == BetaClass::one;
  ground_.draw_a(0, kind(), seed_ + ++draws_);
  ground_.fill_c(0, reads ? Fill::damped : Fill::nan, ~(seed_ + draws_));
  ground_.scrub_workspace(0);  // NaN
  ground_.settle();
  if (Finding finding = trusted({}); !finding.ok()) return finding;
  if (Finding finding = caller.call(0, 1, reads ? 1.0F : 0.0F); !finding.ok()) return finding;
  if (Finding finding = trusted(ground_.all_intact()); !finding.ok()) return finding;
  const Agreement agreement =
      ground_.compare_present(0, {1, reads ? 1.0 : 0.0, 1}, seed_ + draws_, Depth::thorough);
  if (!agreement.first) return trusted({});
  return trusted({Outcome::wrong, "replay", agreement.first->text()});
}

}  // namespace tilewright
