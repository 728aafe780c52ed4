// SPDX-License-Identifier: Apache-2.0
// The order of a proof: cheap exact rules first, then bounds, then what a cheat would rely on.
// proof_rules.cc has the rules that need more than one plain call.
#include "verify/proof.h"

#include "verify/freivalds.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
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

Proof::Proof(const Arena& arena, Library& library, Caller caller, std::uint64_t seed)
    : arena_(arena),
      problem_(arena.problem()),
      library_(library),
      caller_(std::move(caller)),
      seed_(seed),
      stage_(arena, caller_.owner),
      base_beta_(problem_.beta == BetaClass::one ? 1.0F : 0.0F) {
  arena_.paint_guards();
}

Verdict Proof::full() {
  if (problem_.batch * problem_.m * problem_.n == 0) {
    static_cast<void>(no_results());
    return verdict_;
  }
  static_cast<void>(exact_rules() && changed_element() && fresh_bound() && poison_and_repeat() &&
                    workspace() && bait() && fresh_address() && other_bounds() && alpha_beta() &&
                    ragged());
  if (verdict_.finding.ok()) static_cast<void>(failed(stage_.all_intact()));
  return verdict_;
}

Verdict Proof::quick() {
  if (problem_.batch * problem_.m * problem_.n == 0) {
    static_cast<void>(no_results());
    return verdict_;
  }
  const DataKind exact = applies(DataKind::split_k, problem_) ? DataKind::split_k : DataKind::signs;
  const char* rule = exact == DataKind::split_k ? "exact-split-k" : "exact-signs";
  static_cast<void>(check(step(rule, Fill::nan), library_.fixed(exact)) && fresh_bound() &&
                    check(step("poison", Fill::plausible), fresh_));
  return verdict_;
}

Verdict Proof::bounds_only() {
  if (problem_.batch * problem_.m * problem_.n == 0) return verdict_;
  if (fresh_bound())
    static_cast<void>(check(step("bound", Fill::plausible), library_.fixed(DataKind::uniform)));
  return verdict_;
}

Proof::Step Proof::step(const char* rule, Fill fill, int set) const {
  // Where C is read, NaN in it would be the right answer everywhere.
  const bool reads_c = base_beta_ != 0;
  return {rule, set, reads_c && fill == Fill::nan ? Fill::plausible : fill, 1, base_beta_, false};
}

bool Proof::failed(Finding finding) {
  if (finding.ok()) return true;
  verdict_.finding = std::move(finding);
  return false;
}

bool Proof::check(const Step& s, const Data& data) {
  ++verdict_.checks;
  ++calls_;
  if (!s.keep_data) stage_.place(s.set, data->operands);
  stage_.fill_c(s.set, s.fill, seed_ + calls_);
  stage_.scrub_workspace(calls_);
  if (!failed(caller_.call(s.set, s.alpha, s.beta))) return false;
  if (!judge(s, *data)) return false;
  stage_.accept_c(s.set);
  previous_ = data;
  return true;
}

bool Proof::judge(const Step& s, const DataSet& data) {
  if (!failed(stage_.intact(s.set))) return false;
  const Strided c = view_c(arena_, s.set, caller_.owner);
  const bool exact = is_exact(data.kind);
  const Expectation x{&data.reference, exact, s.alpha, s.beta, stage_.before(s.set), 1};
  const bool norm = data.kind == DataKind::normal || data.kind == DataKind::uniform;
  const Agreement agreement = compare(problem_, c, x, norm);
  if (!exact) {
    verdict_.max_bound_ratio = std::max(verdict_.max_bound_ratio, agreement.max_ratio);
  }
  if (data.kind == DataKind::normal && s.alpha == 1 && s.beta == base_beta_) {
    verdict_.max_abs_error = std::max(verdict_.max_abs_error, agreement.max_abs_error);
    verdict_.norm_ratio = std::max(verdict_.norm_ratio, agreement.norm_ratio);
  }
  if (agreement.first) return failed(diagnose(s, data, x, *agreement.first));
  // A library is held to the bound alone: to drop one that rounds twice would lower the bar.
  if (norm && caller_.owner == Owner::candidate && norm_applies(problem_, agreement.results) &&
      agreement.norm_ratio > kNormLimit) {
    return failed({Outcome::wrong, "norm",
                   fmt::format("{} data: normwise error {:.3f} times that of correct rounding, at "
                               "most {}",
                               name_of(data.kind), agreement.norm_ratio, kNormLimit)});
  }
  // What the sample left out. Large data may overflow, which only single results can excuse.
  if (!data.reference.full && s.alpha == 1 && s.beta == 0 && data.kind != DataKind::large) {
    const Freivalds freivalds(problem_, view_b(arena_, s.set), seed_ + calls_);
    Freivalds::Options options;
    options.exact = data.kind == DataKind::split_k;
    if (const auto off = freivalds.check(view_a(arena_, s.set), c, options)) {
      return failed({Outcome::wrong, s.rule,
                     fmt::format("{} data, weighted sums of {} results: {}", name_of(data.kind),
                                 freivalds_group(problem_.out), off->text())});
    }
  }
  return true;
}

// A mismatch may tell more than that a rule failed: what C held before shows through, or the result
// belongs to data that are no longer there.
Finding Proof::diagnose(const Step& s, const DataSet& data, const Expectation& x,
                        const Mismatch& m) const {
  const Strided c = view_c(arena_, s.set, caller_.owner);
  const auto size = size_of(c.type);
  const std::byte* got = c.row(m.batch, m.row) + m.col * static_cast<std::int64_t>(size);
  const std::int64_t at = (m.batch * c.rows + m.row) * c.cols + m.col;
  const std::byte* before = x.before.data() + at * static_cast<std::int64_t>(size);
  const std::string text = fmt::format("{} data: {}", name_of(data.kind), m.text());
  if (std::memcmp(got, before, size) == 0) {
    return {Outcome::wrong, "poison",
            fmt::format("{}; it still holds what it held before the call", text)};
  }
  const double earlier = load(c.type, before, 0);
  if (s.fill == Fill::plausible && s.beta == 0 &&
      std::fabs(m.got - earlier - m.want) <=
          2 * (m.allowed + unit_roundoff(c.type) * (std::fabs(earlier) + std::fabs(m.got)))) {
    return {Outcome::wrong, "poison", fmt::format("{}; it was added to what C held", text)};
  }
  if (previous_ && previous_.get() != &data && s.alpha == 1) {
    Expectation stale = x;
    stale.reference = &previous_->reference;
    stale.exact = is_exact(previous_->kind);
    if (!compare(problem_, c, stale, false).first) {
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
  if (!failed(caller_.call(0, 1, base_beta_))) return false;
  return failed(stage_.all_intact());
}

bool Proof::exact_rules() {
  const Fill fill = base_beta_ != 0 ? Fill::even : Fill::nan;
  for (const ExactRule& rule : kExactRules) {
    if (!applies(rule.kind, problem_)) continue;
    if (!check(step(rule.rule, fill), library_.fixed(rule.kind))) return false;
  }
  return true;
}

bool Proof::fresh_bound() {
  fresh_ = library_.fresh(DataKind::normal, seed_);
  return check(step("bound", Fill::nan), fresh_);
}

bool Proof::other_bounds() {
  Fill fill = Fill::plausible;
  for (const DataKind kind :
       {DataKind::uniform, DataKind::cancelling, DataKind::large, DataKind::tiny}) {
    if (!applies(kind, problem_)) continue;
    if (!check(step("bound", fill), library_.fixed(kind))) return false;
    fill = fill == Fill::plausible ? Fill::nan : Fill::plausible;
  }
  return true;
}

}  // namespace tilewright
