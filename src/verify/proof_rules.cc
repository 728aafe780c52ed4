// SPDX-License-Identifier: Apache-2.0
// The rules of a proof that need more than one plain call: what a kernel remembers, where it looks,
// alpha and beta, and other sizes. proof.cc has their order.
#include "verify/proof.h"

#include <fmt/format.h>

#include <string>
#include <vector>

namespace tilewright {

// The data before were exact-signs (or the last exact kind that applies); one element of A, then
// one of B, is another now. Who recognises data by a sample of them takes these for the same.
bool Proof::changed_element() {
  if (problem_.k == 0) return true;
  FeedPointer data = ground_.fixed(DataKind::signs);
  const Fill fill = base_beta_ != 0 ? Fill::even : Fill::plausible;
  for (const bool in_a : {true, false}) {
    data = ground_.one_changed(data, in_a, seed_ + (in_a ? 1 : 2));
    if (!check(step("fresh-data", fill), data)) return false;
  }
  return true;
}

// The same data over numbers that a result could be, in place of NaN; and whether the bits agree.
// Then over the right result but for one number, as timed calls find it but for that one: a kernel
// that looks at a few and leaves the rest as it is does not put it right.
bool Proof::poison_and_repeat() {
  const std::string first = ground_.digest_c(0);
  Step again = step("poison", Fill::plausible);
  again.keep_data = true;
  if (base_beta_ != 0) return check(again, fresh_);  // C was read: other bits are right
  if (!check(again, fresh_)) return false;
  verdict_.repeatable = ground_.digest_c(0) == first;
  ++verdict_.checks;
  ++calls_;
  ground_.spoil_c(0, seed_);
  ground_.scrub_workspace(calls_);
  if (!passed(call(again.set, again.alpha, again.beta)) || !judge(again, *fresh_)) return false;
  ground_.accept_c(0);
  return true;
}

// A workspace may hold what a call needs, not what the next one finds: with half of its lines
// overwritten since the last call on the same data, a result kept there is spoilt.
bool Proof::workspace() {
  if (!ground_.spoil_workspace(seed_)) return true;
  ++verdict_.checks;
  ++calls_;
  const Step s = step("workspace", Fill::plausible);
  ground_.fill_c(s.set, s.fill, seed_ + calls_);
  if (!passed(call(s.set, s.alpha, s.beta)) || !judge(s, *fresh_)) return false;
  ground_.accept_c(s.set);
  return true;
}

// The baselines' C holds the right result, but for one number in eight that is off. A kernel that
// looks at a few of them and copies the rest brings the wrong ones along.
bool Proof::bait() {
  if (ground_.owner() == Owner::baseline || base_beta_ != 0) return true;
  ground_.lay_bait(0, seed_);
  Step s = step("bait", Fill::plausible);
  s.keep_data = true;
  const bool right = check(s, fresh_);
  // It holds no result for the next candidate to copy.
  ground_.fill_baseline_c(0, seed_ + calls_, DataKind::normal);
  return right;
}

// The same data in another operand set, then other data in both by turns: addresses tell nothing.
bool Proof::fresh_address() {
  if (ground_.sets() < 2) return true;
  const std::string first = ground_.digest_c(0);
  if (!check(step("fresh-address", Fill::plausible, 1), fresh_)) return false;
  if (base_beta_ == 0 && ground_.digest_c(1) != first) verdict_.repeatable = false;
  if (problem_.k == 0) return true;
  const FeedPointer signs = ground_.fixed(DataKind::signs);
  const FeedPointer ones = ground_.fixed(DataKind::zero_one);
  const Fill fill = base_beta_ != 0 ? Fill::even : Fill::plausible;
  int set = 0;
  for (const FeedPointer& data : {signs, ones, ones, signs}) {
    // The set beside it no longer holds its result, so whoever writes that again is seen.
    ground_.fill_c(1 - set, Fill::plausible, seed_ + 0x100 + calls_);
    if (!check(step("fresh-address", fill, set), data)) return false;
    set = 1 - set;
  }
  return true;
}

bool Proof::alpha_beta() {
  const bool any_alpha = problem_.alpha == AlphaClass::any;
  const bool any_beta = problem_.beta == BetaClass::any;
  if (!any_alpha && !any_beta) return true;
  const std::vector<float> alphas =
      any_alpha ? std::vector<float>{1, -1.25F} : std::vector<float>{1};
  const std::vector<float> betas =
      any_beta ? std::vector<float>{0, 1, -0.75F} : std::vector<float>{base_beta_};
  for (const float alpha : alphas) {
    for (const float beta : betas) {
      const Fill fill = beta == 0 ? Fill::nan : Fill::plausible;
      if (!check({"alpha-beta", 0, fill, alpha, beta, false}, fresh_)) return false;
    }
  }
  if (!any_alpha) return true;
  for (const float beta : betas) {
    if (!alpha_zero(beta)) return false;
  }
  return true;
}

// alpha = 0: A and B are not read, so NaN in them changes nothing (CASES N05).
bool Proof::alpha_zero(float beta) {
  const Fill fill = beta == 0 ? Fill::nan : Fill::plausible;
  return check({"alpha-beta", 0, fill, 0, beta, false}, ground_.unread(fresh_));
}

bool Proof::ragged() {
  if (!caller_.call_sizes) return true;
  const float beta = timed_beta(problem_);
  for (const RaggedFeed& ragged : ground_.ragged()) {
    ++verdict_.checks;
    ++calls_;
    const Extent& e = ragged.extent;
    ground_.place(0, *ragged.feed);
    ground_.fill_c(0, beta == 0 ? Fill::nan : Fill::plausible, seed_ + calls_);
    ground_.scrub_workspace(calls_);
    ground_.settle();
    if (!passed({}) || !passed(caller_.call_sizes(e)) || !passed(ground_.intact(0))) return false;
    const Agreement agreement = ground_.compare(0, *ragged.feed, {1, beta, 1}, false);
    const std::string sizes = fmt::format("{}x{}x{} within {}", e.m, e.n, e.k, to_text(problem_));
    if (agreement.first) {
      return passed(
          {Outcome::wrong, "ragged", fmt::format("{}: {}", sizes, agreement.first->text())});
    }
    // Outside m x n C is as it was.
    if (const auto row = ground_.written_beyond(0, e)) {
      return passed({Outcome::out_of_bounds, "ragged",
                     fmt::format("{}: row {} was written beyond that", sizes, *row)});
    }
    if (!passed({})) return false;
  }
  previous_ = nullptr;
  return true;
}

}  // namespace tilewright
