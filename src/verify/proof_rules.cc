// SPDX-License-Identifier: Apache-2.0
// The rules of a proof that need more than one plain call: what a kernel remembers, where it looks,
// alpha and beta, and other sizes. proof.cc has their order.
#include "verify/proof.h"

#include "base/rng.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <vector>

namespace tilewright {

// The data before were exact-signs (or the last exact kind that applies); one element of A, then
// one of B, is another now. Who recognises data by a sample of them takes these for the same.
bool Proof::changed_element() {
  if (problem_.k == 0) return true;
  Data data = library_.fixed(DataKind::signs);
  const Fill fill = base_beta_ != 0 ? Fill::even : Fill::plausible;
  for (const bool in_a : {true, false}) {
    data = with_one_changed(problem_, *data, in_a, seed_ + (in_a ? 1 : 2));
    if (!check(step("fresh-data", fill), data)) return false;
  }
  return true;
}

// The same data over numbers that a result could be, in place of NaN; and whether the bits agree.
bool Proof::poison_and_repeat() {
  const std::vector<std::byte> first = get(view_c(arena_, 0, caller_.owner));
  Step again = step("poison", Fill::plausible);
  again.keep_data = true;
  if (base_beta_ != 0) return check(again, fresh_);  // C was read: other bits are right
  if (!check(again, fresh_)) return false;
  verdict_.repeatable = same(view_c(arena_, 0, caller_.owner), first);
  return true;
}

// A workspace may hold what a call needs, not what the next one finds: with half of its lines
// overwritten since the last call on the same data, a result kept there is spoilt.
bool Proof::workspace() {
  const std::span<std::byte> space = arena_.workspace();
  if (space.empty()) return true;
  ++verdict_.checks;
  ++calls_;
  Rng rng(seed_, 0x77);
  constexpr std::size_t line = 64;
  for (std::size_t i = 0; i < space.size(); i += line) {
    if (rng() % 2 == 0) continue;
    for (std::byte& b : space.subspan(i, std::min(line, space.size() - i))) b ^= std::byte{0xa5};
  }
  const Step s = step("workspace", Fill::plausible);
  stage_.fill_c(s.set, s.fill, seed_ + calls_);
  if (!failed(caller_.call(s.set, s.alpha, s.beta)) || !judge(s, *fresh_)) return false;
  stage_.accept_c(s.set);
  return true;
}

// The baselines' C holds the right result, but for one number in eight that is off. A kernel that
// looks at a few of them and copies the rest brings the wrong ones along.
bool Proof::bait() {
  if (caller_.owner == Owner::baseline || base_beta_ != 0) return true;
  std::vector<std::byte> lure = get(view_c(arena_, 0));
  Rng rng(seed_, 0xba);
  const std::int64_t count = problem_.batch * problem_.m * problem_.n;
  for (std::int64_t i = 0; i < count; ++i) {
    if (rng() % 8 != 0) continue;
    store(problem_.out, lure.data(), i, load(problem_.out, lure.data(), i) * 1.25 + 0.25);
  }
  stage_.fill_baseline_c(0, lure);
  Step s = step("bait", Fill::plausible);
  s.keep_data = true;
  const bool right = check(s, fresh_);
  stage_.fill_baseline_c(0, plausible_c(problem_, seed_ + calls_));
  return right;
}

// The same data in another operand set, then other data in both by turns: addresses tell nothing.
bool Proof::fresh_address() {
  if (arena_.layout().sets < 2) return true;
  const std::vector<std::byte> first = get(view_c(arena_, 0, caller_.owner));
  if (!check(step("fresh-address", Fill::plausible, 1), fresh_)) return false;
  if (base_beta_ == 0 && !same(view_c(arena_, 1, caller_.owner), first)) {
    verdict_.repeatable = false;
  }
  if (problem_.k == 0) return true;
  const Data signs = library_.fixed(DataKind::signs);
  const Data ones = library_.fixed(DataKind::zero_one);
  const Fill fill = base_beta_ != 0 ? Fill::even : Fill::plausible;
  int set = 0;
  for (const Data& data : {signs, ones, ones, signs}) {
    // The set beside it no longer holds its result, so whoever writes that again is seen.
    stage_.fill_c(1 - set, Fill::plausible, seed_ + 0x100 + calls_);
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
  auto nothing = std::make_shared<DataSet>(*fresh_);
  fill_nan(packed_a(problem_, nothing->operands.a));
  fill_nan(packed_b(problem_, nothing->operands.b));
  const Fill fill = beta == 0 ? Fill::nan : Fill::plausible;
  return check({"alpha-beta", 0, fill, 0, beta, false}, nothing);
}

bool Proof::ragged() {
  if (!caller_.call_sizes) return true;
  const float beta = timed_beta(problem_);
  for (const auto& set : library_.ragged()) {
    ++verdict_.checks;
    ++calls_;
    Step s{"ragged", 0, beta == 0 ? Fill::nan : Fill::plausible, 1, beta, false};
    stage_.place(0, set->operands);
    stage_.fill_c(0, s.fill, seed_ + calls_);
    stage_.scrub_workspace(calls_);
    const Extent& e = set->extent;
    if (!failed(caller_.call_sizes(e)) || !failed(stage_.intact(0))) return false;
    const Strided c = view_c(arena_, 0);
    const Expectation x{&set->reference, false, 1, beta, stage_.before(0), 1};
    const Agreement agreement = compare(problem_, c, x, false);
    const std::string sizes = fmt::format("{}x{}x{} within {}", e.m, e.n, e.k, to_text(problem_));
    if (agreement.first) {
      return failed(
          {Outcome::wrong, "ragged", fmt::format("{}: {}", sizes, agreement.first->text())});
    }
    // Outside m x n C is as it was.
    const auto size = static_cast<std::int64_t>(size_of(c.type));
    for (std::int64_t row = 0; row < c.batches * c.rows; ++row) {
      const std::int64_t from = row % c.rows < e.m ? e.n * size : 0;
      const std::byte* now = c.row(row / c.rows, row % c.rows);
      const std::byte* before = stage_.before(0).data() + row * c.row_bytes();
      if (std::memcmp(now + from, before + from, static_cast<std::size_t>(c.row_bytes() - from))) {
        return failed({Outcome::out_of_bounds, "ragged",
                       fmt::format("{}: row {} was written beyond that", sizes, row % c.rows)});
      }
    }
  }
  previous_ = nullptr;
  return true;
}

}  // namespace tilewright
