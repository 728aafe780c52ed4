// SPDX-License-Identifier: Apache-2.0
// The order of a proof: cheap exact rules first, then bounds, then what a cheat would rely on.
// proof_rules.cc has the rules that need more than one plain call.
#include "verify/proof.h"

#include "verify/freivalds.h"
#include "verify/operation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

namespace tilewright {
namespace {

struct ExactRule {
  const char* rule;
  DataKind kind;
};
// Split-k first: it is the one that a screening runs.
constexpr std::array<ExactRule, 3> kExactRules = {{{"exact-split-k", DataKind::split_k},
                                                   {"exact-01", DataKind::zero_one},
                                                   {"exact-signs", DataKind::signs}}};

}  // namespace

Proof::Proof(Ground& ground, Caller caller, std::uint64_t seed)
    : ground_(ground),
      problem_(ground.problem()),
      caller_(std::move(caller)),
      seed_(seed),
      base_beta_(problem_.beta == BetaClass::one ? 1.0F : 0.0F) {
  ground_.paint_guards();
}

Verdict Proof::full() {
  if (problem_.batch * problem_.m * problem_.n == 0) {
    static_cast<void>(no_results());
    return verdict_;
  }
  static_cast<void>(exact_rules() && changed_element() && fresh_bound(Depth::thorough) &&
                    poison_and_repeat() && workspace() && bait() && fresh_address() &&
                    other_bounds() && alpha_beta() && ragged());
  if (verdict_.finding.ok()) static_cast<void>(passed(ground_.all_intact()));
  return verdict_;
}

Verdict Proof::quick() {
  if (problem_.batch * problem_.m * problem_.n == 0) {
    static_cast<void>(no_results());
    return verdict_;
  }
  const DataKind exact = applies(DataKind::split_k, problem_) ? DataKind::split_k : DataKind::signs;
  const char* rule = !is_exact(exact, problem_)   ? "bound"
                     : exact == DataKind::split_k ? "exact-split-k"
                                                  : "exact-signs";
  static_cast<void>(check(step(rule, Fill::nan), ground_.fixed(exact)) &&
                    fresh_bound(Depth::brief) && check(step("poison", Fill::plausible), fresh_));
  return verdict_;
}

Verdict Proof::bounds_only() {
  if (problem_.batch * problem_.m * problem_.n == 0) return verdict_;
  // A library remembers no results, so all of them meet the same data: references cost more than
  // the calls.
  static_cast<void>(check(step("bound", Fill::nan), ground_.fixed(DataKind::normal)) &&
                    check(step("bound", Fill::plausible), ground_.fixed(DataKind::uniform)));
  return verdict_;
}

Proof::Step Proof::step(const char* rule, Fill fill, int set) const {
  // Where C is read, NaN in it would be the right answer everywhere.
  const bool reads_c = base_beta_ != 0;
  return {rule, set, reads_c && fill == Fill::nan ? Fill::plausible : fill, 1, base_beta_, false};
}

bool Proof::passed(Finding finding) {
  // Where the checker itself failed, what it found means nothing.
  if (Finding trouble = ground_.trouble(); !trouble.ok()) finding = std::move(trouble);
  if (finding.ok()) return true;
  verdict_.finding = std::move(finding);
  return false;
}

Finding Proof::call(int set, float alpha, float beta) {
  ground_.settle();
  if (Finding trouble = ground_.trouble(); !trouble.ok()) return trouble;
  return caller_.call(set, alpha, beta);
}

bool Proof::check(const Step& s, const FeedPointer& data) {
  ++verdict_.checks;
  ++calls_;
  if (!s.keep_data) ground_.place(s.set, *data);
  ground_.fill_c(s.set, s.fill, seed_ + calls_);
  ground_.scrub_workspace(calls_);
  if (!passed(call(s.set, s.alpha, s.beta))) return false;
  if (!judge(s, *data)) return false;
  ground_.accept_c(s.set);
  previous_ = data;
  return true;
}

bool Proof::judge(const Step& s, const Feed& data) {
  if (!passed(ground_.intact(s.set))) return false;
  const bool exact = is_exact(data.kind, problem_);
  const bool norm = data.kind == DataKind::normal || data.kind == DataKind::uniform;
  const Agreement agreement = ground_.compare(s.set, data, {s.alpha, s.beta, 1}, norm);
  if (!passed({})) return false;
  if (!exact) {
    verdict_.max_bound_ratio = std::max(verdict_.max_bound_ratio, agreement.max_ratio);
  }
  if (data.kind == DataKind::normal && s.alpha == 1 && s.beta == base_beta_) {
    verdict_.max_abs_error = std::max(verdict_.max_abs_error, agreement.max_abs_error);
    verdict_.norm_ratio = std::max(verdict_.norm_ratio, agreement.norm_ratio);
  }
  if (agreement.first) return passed(diagnose(s, data, *agreement.first));
  // A library is held to the bound alone: to drop one that rounds twice would lower the bar.
  if (norm && ground_.owner() == Owner::candidate && norm_applies(problem_, agreement.results) &&
      agreement.norm_ratio > kNormLimit) {
    return passed({Outcome::wrong, "norm",
                   fmt::format("{} data: normwise error {:.3f} times that of correct rounding, at "
                               "most {}",
                               name_of(data.kind), agreement.norm_ratio, kNormLimit)});
  }
  // What the sample left out. Large data may overflow, which only single results can excuse.
  if (s.alpha == 1 && s.beta == 0 && data.kind != DataKind::large) {
    const bool no_error = data.kind == DataKind::split_k;
    if (const auto off = ground_.weigh(s.set, data, no_error, seed_ + calls_)) {
      return passed({Outcome::wrong, s.rule,
                     fmt::format("{} data, {}: {}", name_of(data.kind), weighed_what(problem_),
                                 off->text())});
    }
  }
  return passed({});
}

// A mismatch may tell more than that a rule failed: what C held before shows through, or the result
// belongs to data that are no longer there.
Finding Proof::diagnose(const Step& s, const Feed& data, const Mismatch& m) {
  const std::string text = fmt::format("{} data: {}", name_of(data.kind), m.text());
  const Ground::Before before = ground_.before(s.set, m);
  if (before.untouched) {
    return {Outcome::wrong, "poison",
            fmt::format("{}; it still holds what it held before the call", text)};
  }
  const double earlier = before.value;
  if (s.fill == Fill::plausible && s.beta == 0 &&
      std::fabs(m.got - earlier - m.want) <=
          2 * (m.allowed + unit_roundoff(problem_.out) * (std::fabs(earlier) + std::fabs(m.got)))) {
    return {Outcome::wrong, "poison", fmt::format("{}; it was added to what C held", text)};
  }
  if (previous_ && previous_.get() != &data && s.alpha == 1) {
    if (!ground_.compare(s.set, *previous_, {s.alpha, s.beta, 1}, false).first) {
      return {
          Outcome::cheat, "fresh-data",
          fmt::format("C is the result of {} data of an earlier call", name_of(previous_->kind))};
    }
  }
  const bool lured = std::string_view(s.rule) == "bait";
  return {lured ? Outcome::cheat : Outcome::wrong, s.rule, text};
}

bool Proof::no_results() {
  ++verdict_.checks;
  if (!passed(call(0, 1, base_beta_))) return false;
  return passed(ground_.all_intact());
}

bool Proof::exact_rules() {
  const Fill fill = base_beta_ != 0 ? Fill::even : Fill::nan;
  for (const ExactRule& rule : kExactRules) {
    if (!applies(rule.kind, problem_)) continue;
    // Integers are data like others where exponentials or roots are taken.
    const char* name = is_exact(rule.kind, problem_) ? rule.rule : "bound";
    if (!check(step(name, fill), ground_.fixed(rule.kind))) return false;
  }
  return true;
}

bool Proof::fresh_bound(Depth depth) {
  fresh_ = ground_.fresh(DataKind::normal, seed_, depth);
  return check(step("bound", Fill::nan), fresh_);
}

bool Proof::other_bounds() {
  Fill fill = Fill::plausible;
  for (const DataKind kind :
       {DataKind::uniform, DataKind::cancelling, DataKind::large, DataKind::tiny}) {
    if (!applies(kind, problem_)) continue;
    if (!check(step("bound", fill), ground_.fixed(kind))) return false;
    fill = fill == Fill::plausible ? Fill::nan : Fill::plausible;
  }
  return true;
}

}  // namespace tilewright
