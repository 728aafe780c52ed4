// SPDX-License-Identifier: Apache-2.0
// Freivalds' check by groups of columns; see freivalds.h.
#include "verify/freivalds.h"

#include "base/rng.h"
#include "verify/ranges.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tilewright {

std::vector<double> freivalds_weights(std::int64_t n, std::uint64_t seed) {
  Rng rng(seed, 0xf1);
  std::vector<double> weights(static_cast<std::size_t>(n));
  for (double& w : weights) {
    // Seven bits, so that integer data stay exact.
    const double size = static_cast<double>(64 + rng.below(64)) / 128;
    w = rng() % 2 ? size : -size;
  }
  return weights;
}

Freivalds::Freivalds(const Problem& p, const Strided& b, std::uint64_t seed)
    : problem_(p), width_(freivalds_group(p.out)), groups_((p.n + width_ - 1) / width_) {
  weights_ = freivalds_weights(p.n, seed);
  const auto size = static_cast<std::size_t>(p.batch * p.k * groups_);
  weighted_.assign(size, 0);
  magnitudes_.assign(size, 0);
  for (std::int64_t batch = 0; batch < p.batch; ++batch) {
    const std::vector<float> wide = widen(b, batch);
    const std::int64_t row = p.b_transposed ? 1 : p.n;  // of element (k, j)
    const std::int64_t col = p.b_transposed ? p.k : 1;
    for_ranges(p.k, (1 << 18) / (p.n + 1) + 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t g = 0; g < groups_; ++g) {
        const std::int64_t last = std::min((g + 1) * width_, p.n);
        for (std::int64_t k = begin; k < end; ++k) {
          double sum = 0;
          double magnitude = 0;
          for (std::int64_t j = g * width_; j < last; ++j) {
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

Freivalds::Weighed Freivalds::weigh(const Strided& c) const {
  const Problem& p = problem_;
  const auto size = static_cast<std::size_t>(p.batch * p.m * groups_);
  Weighed weighed{std::vector<double>(size), std::vector<double>(size)};
  for_ranges(p.batch * p.m, (1 << 16) / (p.n + 1) + 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> line(static_cast<std::size_t>(p.n));
    for (std::int64_t i = begin; i < end; ++i) {
      widen(c.type, c.row(i / p.m, i % p.m), p.n, line.data());
      for (std::int64_t g = 0; g < groups_; ++g) {
        const std::int64_t from = g * width_;
        const std::int64_t last = std::min(from + width_, p.n);
        double sum = 0;
        double magnitude = 0;
        for (std::int64_t j = from; j < last; ++j) {
          const double value = static_cast<double>(line[static_cast<std::size_t>(j)]);
          sum += weights_[static_cast<std::size_t>(j)] * value;
          magnitude += std::fabs(value);
        }
        const auto at = static_cast<std::size_t>(i * groups_ + g);
        weighed.sum[at] = sum;
        weighed.magnitude[at] = magnitude;
      }
    }
  });
  return weighed;
}

std::vector<double> Freivalds::expected(const Strided& a, std::int64_t batch,
                                        std::vector<float>* magnitude) const {
  const Problem& p = problem_;
  const std::vector<float> wide = widen(a, batch);
  const Grid<float> ga =
      p.a_transposed ? Grid<float>{wide.data(), 1, p.m} : Grid<float>{wide.data(), p.k, 1};
  const std::int64_t offset = batch * p.k * groups_;
  std::vector<double> want(static_cast<std::size_t>(p.m * groups_));
  product(ga, Grid<double>{weighted_.data() + offset, groups_, 1}, p.m, groups_, p.k, want.data());
  if (magnitude) {
    magnitude->resize(want.size());
    magnitude_product(ga, Grid<float>{magnitudes_.data() + offset, groups_, 1}, p.m, groups_, p.k,
                      magnitude->data());
  }
  return want;
}

std::optional<Mismatch> Freivalds::check(const Strided& a, const Strided& c,
                                         const Options& options) const {
  const Problem& p = problem_;
  if (p.batch == 0 || p.m == 0 || p.n == 0) return std::nullopt;
  const Terms terms = error_terms(p, p.k, options.beta != 0);
  const Accumulation how = accumulation(1, options.beta, options.calls);
  const Weighed got = weigh(c);
  std::optional<Mismatch> first;
  for (std::int64_t batch = 0; batch < p.batch; ++batch) {
    std::vector<float> magnitude;
    const std::vector<double> product_sums =
        expected(a, batch, options.exact ? nullptr : &magnitude);
    for (std::size_t i = 0; i < product_sums.size(); ++i) {
      const std::size_t at = static_cast<std::size_t>(batch) * product_sums.size() + i;
      const std::int64_t from = static_cast<std::int64_t>(i) % groups_ * width_;
      WeighedSums sums;
      sums.product = product_sums[i];
      if (!options.exact) sums.size = static_cast<double>(magnitude[i]);
      sums.got = got.sum[at];
      sums.got_size = got.magnitude[at];
      if (options.before != nullptr) {
        sums.before = options.before->sum[at];
        sums.before_size = options.before->magnitude[at];
      }
      sums.width = static_cast<double>(std::min(width_, p.n - from));
      const WeighedBound bound =
          weighed_bound(terms, sums, how, static_cast<double>(p.k), options.exact);
      if (std::fabs(sums.got - bound.want) <= bound.allowed) continue;  // false for NaN and Inf
      if (!first) {
        first = Mismatch{batch,      static_cast<std::int64_t>(i) / groups_,
                         from,       sums.got,
                         bound.want, bound.allowed,
                         0};
      }
      ++first->count;
    }
  }
  return first;
}

std::int64_t Freivalds::count_calls(const Strided& a, const Strided& c, double beta,
                                    const Weighed& before, std::int64_t most) const {
  const Weighed got = weigh(c);
  InnerProducts products;
  for (std::int64_t batch = 0; batch < problem_.batch; ++batch) {
    const std::vector<double> sums = expected(a, batch, nullptr);
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const std::size_t at = static_cast<std::size_t>(batch) * sums.size() + i;
      products.add(got.sum[at], sums[i], before.sum[at]);
    }
  }
  return likeliest_calls(products, beta, most);
}

std::int64_t likeliest_calls(const InnerProducts& x, double beta, std::int64_t most) {
  std::int64_t best = 1;
  double best_error = std::numeric_limits<double>::infinity();
  for (std::int64_t calls = 1; calls <= most; ++calls) {
    const Repeated h = repeated(beta, calls);
    // |got - sum * product - kept * before|^2
    const double error = x.got_got + h.sum * h.sum * x.product_product +
                         h.kept * h.kept * x.before_before - 2 * h.sum * x.got_product -
                         2 * h.kept * x.got_before + 2 * h.sum * h.kept * x.product_before;
    if (error < best_error) {
      best = calls;
      best_error = error;
    } else if (error > 4 * best_error) {
      break;  // past the minimum
    }
  }
  return best;
}

}  // namespace tilewright
