// SPDX-License-Identifier: Apache-2.0
// See lookup.h.
#include "runtime/lookup.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tilewright::runtime {
namespace {

// What programs differ in besides the sizes, as one number below kClasses.
constexpr std::size_t kClasses = std::size_t{3} * 3 * 2 * 2 * 2 * 2 * 3;

std::size_t class_of(const Problem& p) {
  std::size_t number = 0;
  const auto digit = [&](auto value, std::size_t base) {
    number = number * base + static_cast<std::size_t>(value);
  };
  digit(p.in, 3);
  digit(p.out, 3);
  digit(p.acc, 2);
  digit(p.a_transposed, 2);
  digit(p.b_transposed, 2);
  digit(p.alpha, 2);
  digit(p.beta, 3);
  return number;
}

}  // namespace

Lookup::Lookup(std::vector<WisdomEntry> entries)
    : entries_(std::move(entries)), classes_(kClasses) {
  std::ranges::stable_partition(entries_,
                                [](const WisdomEntry& entry) { return entry.mode == "offline"; });
  for (std::size_t index = 0; index < entries_.size(); ++index) {
    const auto problem = parse_problem(entries_[index].problem);
    if (!problem || !problem->is_gemm()) continue;  // the library computes products only
    own_[*problem].push_back(index);
    classes_[class_of(*problem)].push_back({place_of(*problem), index});
  }
}

Lookup::Place Lookup::place_of(const Problem& p) {
  Place place;
  const std::array<std::int64_t, 4> sizes = {p.n, p.k, p.m, p.batch};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    place.octaves[i] = sizes[i] > 0 ? std::log2(static_cast<double>(sizes[i])) : NAN;
  }
  place.strides = {p.lda, p.ldb, p.ldc};
  return place;
}

std::optional<double> Lookup::distance_of(const Place& a, const Place& b, Sizes sizes) {
  double sum = 0;
  const std::size_t count = sizes == Sizes::columns ? 2 : a.octaves.size();
  for (std::size_t i = 0; i < count; ++i) {
    const double apart = std::abs(a.octaves[i] - b.octaves[i]);
    if (!(apart <= kNearOctaves)) return std::nullopt;  // NaN too: a size of 0 is near nothing
    sum += apart;
  }
  return sum;
}

std::span<const std::size_t> Lookup::own(const Problem& problem) const {
  const auto found = own_.find(problem);
  if (found == own_.end()) return {};
  return found->second;
}

std::array<std::span<const Lookup::Near>, 2> Lookup::classes_for(const Problem& problem) const {
  if (classes_.empty()) return {};
  Problem plain = problem;
  plain.alpha = AlphaClass::one;
  plain.beta = BetaClass::zero;
  const std::size_t own = class_of(problem), other = class_of(plain);
  if (own == other) return {classes_[own]};
  return {classes_[own], classes_[other]};
}

}  // namespace tilewright::runtime
