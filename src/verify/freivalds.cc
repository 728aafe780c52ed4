// SPDX-License-Identifier: Apache-2.0
// Freivalds' check by groups of columns; see freivalds.h.
#include "verify/freivalds.h"

#include "base/rng.h"
#include "verify/ranges.h"

#include <algorithm>
#include <cmath>
#include <mutex>

namespace tilewright {

Freivalds::Freivalds(const Problem& p, const Strided& b, std::uint64_t seed)
    : problem_(p), groups_((p.n + kFreivaldsGroup - 1) / kFreivaldsGroup) {
  Rng rng(seed, 0xf1);
  weights_.resize(static_cast<std::size_t>(p.n));
  for (double& w : weights_) {
    // Seven bits, so that integer data stay exact.
    const double size = static_cast<double>(64 + rng.below(64)) / 128;
    w = rng() % 2 ? size : -size;
  }
  const auto size = static_cast<std::size_t>(p.batch * p.k * groups_);
  weighted_.assign(size, 0);
  magnitudes_.assign(size, 0);
  for (std::int64_t batch = 0; batch < p.batch; ++batch) {
    const std::vector<float> wide = widen(b, batch);
    const std::int64_t row = p.b_transposed ? 1 : p.n;  // of element (k, j)
    const std::int64_t col = p.b_transposed ? p.k : 1;
    for_ranges(p.k, (1 << 18) / (p.n + 1) + 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t g = 0; g < groups_; ++g) {
        const std::int64_t last = std::min((g + 1) * kFreivaldsGroup, p.n);
        for (std::int64_t k = begin; k < end; ++k) {
          double sum = 0;
          double magnitude = 0;
          for (std::int64_t j = g * kFreivaldsGroup; j < last; ++j) {
            const double value =
                static_cast<double>(wide[static_cast<std::size_t>(k * row + j * col)]);
            sum += weights_[static_cast<std::size_t>(j)] * value;
            magnitude += std::fabs(value);
          }
          const auto at = static_cast<std::size_t>((batch * p.k + k) * groups_ + g);
          weighted_[at] = sum;
          magnitudes_[at] = static_cast<float>(magnitude);
        }
      }
    });
  }
}

std::optional<Mismatch> Freivalds::check(const Strided& a, const Strided& c, bool exact) const {
  const Problem& p = problem_;
  if (p.m == 0 || p.n == 0) return std::nullopt;
  const Terms terms = error_terms(p, p.k, false);
  std::optional<Mismatch> first;
  std::mutex mutex;
  for (std::int64_t batch = 0; batch < p.batch && !first; ++batch) {
    const std::vector<float> wide = widen(a, batch);
    const Grid<float> ga =
        p.a_transposed ? Grid<float>{wide.data(), 1, p.m} : Grid<float>{wide.data(), p.k, 1};
    const auto size = static_cast<std::size_t>(p.m * groups_);
    std::vector<double> want(size);
    std::vector<float> magnitude(size);
    const std::int64_t offset = batch * p.k * groups_;
    product(ga, Grid<double>{weighted_.data() + offset, groups_, 1}, p.m, groups_, p.k,
            want.data());
    if (!exact) {
      magnitude_product(ga, Grid<float>{magnitudes_.data() + offset, groups_, 1}, p.m, groups_, p.k,
                        magnitude.data());
    }
    for_ranges(p.m, (1 << 16) / (p.n + 1) + 1, [&](std::int64_t begin, std::int64_t end) {
      std::vector<float> line(static_cast<std::size_t>(p.n));
      std::optional<Mismatch> mine;
      for (std::int64_t i = begin; i < end; ++i) {
        widen(c.type, c.row(batch, i), p.n, line.data());
        for (std::int64_t g = 0; g < groups_; ++g) {
          const std::int64_t from = g * kFreivaldsGroup;
          const std::int64_t last = std::min(from + kFreivaldsGroup, p.n);
          double got = 0;
          double absolute = 0;
          for (std::int64_t j = from; j < last; ++j) {
            const double value = static_cast<double>(line[static_cast<std::size_t>(j)]);
            got += weights_[static_cast<std::size_t>(j)] * value;
            absolute += std::fabs(value);
          }
          const auto at = static_cast<std::size_t>(i * groups_ + g);
          // u |ref| <= u / (1 - u) (|C| + the rest of the bound); f64 itself errs by far less.
          const double drift = terms.accumulate * static_cast<double>(magnitude[at]) +
                               terms.floor * static_cast<double>(last - from);
          const double allowed =
              exact ? 0
                    : (drift + terms.relative * (absolute + drift)) / (1 - 2 * terms.relative) +
                          0x1p-50 * static_cast<double>(p.k) * static_cast<double>(magnitude[at]);
          // Written so that NaN and Inf fail.
          if (std::fabs(got - want[at]) <= allowed) continue;
          if (!mine) mine = Mismatch{batch, i, from, got, want[at], allowed, 0};
          ++mine->count;
        }
      }
      const std::lock_guard lock(mutex);
      if (!mine) return;
      const std::int64_t count = mine->count + (first ? first->count : 0);
      if (!first || mine->row < first->row) first = mine;
      first->count = count;
    });
  }
  return first;
}

}  // namespace tilewright
