// SPDX-License-Identifier: Apache-2.0
// Data before and checks after each timed round; see timed.h.
#include "verify/timed.h"

#include <fmt/format.h>

#include <set>

namespace tilewright {
namespace {

// Set 0 is recomputed after every round, so less of a large problem than in a proof.
constexpr std::int64_t kTimedMultiplyAdds = std::int64_t{1} << 28;
// More calls on one set than any plan makes in one round.
constexpr std::int64_t kMostCalls = 1 << 14;

}  // namespace

TimedOutputs::TimedOutputs(const Arena& arena, std::uint64_t seed)
    : arena_(arena),
      problem_(arena.problem()),
      seed_(seed),
      stage_(arena, Owner::candidate),
      beta_(static_cast<double>(timed_beta(problem_))),
      freivalds_(static_cast<std::size_t>(arena.layout().sets)),
      weighed_(freivalds_.size()) {}

// A C that is accumulated into by thousands of timed calls must stay finite in f16.
DataKind TimedOutputs::kind() const {
  return problem_.beta == BetaClass::one ? DataKind::damped : DataKind::normal;
}

void TimedOutputs::arm() {
  arena_.paint_guards();
  stage_.scrub_workspace(seed_);
  for (int set = 0; set < arena_.layout().sets; ++set) {
    freivalds_[static_cast<std::size_t>(set)].reset();
    const std::uint64_t seed = seed_ + ++draws_;
    stage_.place(set, draw(problem_, kind(), seed));
    fill_c(set, seed);
  }
}

void TimedOutputs::refresh() {
  for (int set = 0; set < arena_.layout().sets; ++set) {
    const std::uint64_t seed = seed_ + ++draws_;
    stage_.place_a(set, draw_a(problem_, kind(), seed));
    // Where C is read, what it holds at the start of a round decides what it holds at the end.
    if (beta_ != 0) fill_c(set, seed);
  }
}

void TimedOutputs::fill_c(int set, std::uint64_t seed) {
  stage_.fill_c(set, kind() == DataKind::damped ? Fill::damped : Fill::plausible, seed);
  stage_.fill_baseline_c(set, plausible_c(problem_, ~seed, kind()));
  if (beta_ == 0) return;
  weighed_[static_cast<std::size_t>(set)] = freivalds(set).weigh(view_c(arena_, set));
}

const Freivalds& TimedOutputs::freivalds(int set) {
  std::optional<Freivalds>& kept = freivalds_[static_cast<std::size_t>(set)];
  if (!kept) kept.emplace(problem_, view_b(arena_, set), seed_ + static_cast<std::uint64_t>(set));
  return *kept;
}

Finding TimedOutputs::check(const std::vector<int>& ran) {
  if (Finding finding = stage_.all_intact(); !finding.ok()) return finding;
  for (const int set : std::set<int>(ran.begin(), ran.end())) {
    if (Finding finding = check_set(set); !finding.ok()) return finding;
  }
  return {};
}

Finding TimedOutputs::check_set(int set) {
  const Freivalds& products = freivalds(set);
  const Strided a = view_a(arena_, set);
  const Strided c = view_c(arena_, set);
  Freivalds::Options options;
  options.beta = beta_;
  if (beta_ != 0) {
    const Freivalds::Weighed& before = *weighed_[static_cast<std::size_t>(set)];
    options.before = &before;
    options.calls = products.count_calls(a, c, beta_, before, kMostCalls);
  }
  if (const auto off = products.check(a, c, options)) {
    return {Outcome::wrong, "timed-outputs",
            fmt::format("operand set {}, weighted sums of {} results: {}", set,
                        freivalds_group(problem_.out), off->text())};
  }
  return set == 0 ? check_in_full(set, options.calls, "timed-outputs") : Finding{};
}

Finding TimedOutputs::check_in_full(int set, std::int64_t calls, const char* rule) const {
  const Reference present = reference(problem_, view_a(arena_, set), view_b(arena_, set),
                                      whole(problem_), true, seed_ + draws_, kTimedMultiplyAdds);
  const Expectation x{&present, false, 1, beta_, stage_.before(set), calls};
  const Agreement agreement = compare(problem_, view_c(arena_, set), x, false);
  if (!agreement.first) return {};
  return {Outcome::wrong, rule, fmt::format("operand set {}: {}", set, agreement.first->text())};
}

Finding TimedOutputs::replay(const Caller& caller) {
  // Under beta = 0 over NaN; where C is always read, over fresh numbers.
  const bool reads = problem_.beta == BetaClass::one;
  stage_.place_a(0, draw_a(problem_, kind(), seed_ + ++draws_));
  stage_.fill_c(0, reads ? Fill::damped : Fill::nan, ~(seed_ + draws_));
  stage_.scrub_workspace(0);  // NaN
  if (Finding finding = caller.call(0, 1, reads ? 1.0F : 0.0F); !finding.ok()) return finding;
  if (Finding finding = stage_.all_intact(); !finding.ok()) return finding;
  const Reference present = reference(problem_, view_a(arena_, 0), view_b(arena_, 0),
                                      whole(problem_), true, seed_ + draws_);
  const Expectation x{&present, false, 1, reads ? 1.0 : 0.0, stage_.before(0), 1};
  const Agreement agreement = compare(problem_, view_c(arena_, 0), x, false);
  if (!agreement.first) return {};
  return {Outcome::wrong, "replay", agreement.first->text()};
}

}  // namespace tilewright
