// SPDX-License-Identifier: Apache-2.0
// The references of the operations, written as plainly as they can be: a mistake here and one in a
// kernel are then unlikely to agree.
#include "verify/operation.h"

#include "base/rng.h"
#include "problem/operations.h"
#include "verify/freivalds.h"
#include "verify/ranges.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <numeric>
#include <set>

namespace tilewright {
namespace {

// One row of A at a time, widened.
class Rows {
 public:
  Rows(const Problem& p, const Strided& a, const Strided& b, const Extent& e)
      : p_(p), a_(a), b_(b), extent_(e), x_(static_cast<std::size_t>(e.n)) {
    if (p.op != Op::layernorm) return;
    for (std::vector<float>* row : {&scale_, &shift_}) row->resize(x_.size());
    widen(b.type, b.row(0, 0), e.n, scale_.data());
    widen(b.type, b.row(0, 1), e.n, shift_.data());
  }

  void compute(std::int64_t row, double* want, float* magnitude) {
    if (p_.op == Op::transpose) return transpose(row, want, magnitude);
    widen(a_.type, a_.row(0, row), extent_.n, x_.data());
    if (p_.op == Op::softmax) return softmax(want, magnitude);
    if (p_.op == Op::layernorm) return layernorm(want, magnitude);
    if (p_.op == Op::reduce) return reduce(want, magnitude);
    for (std::size_t j = 0; j < x_.size(); ++j) map(x_[j], want + j, magnitude + j);
  }

 private:
  [[nodiscard]] double count() const { return static_cast<double>(x_.size()); }

  void transpose(std::int64_t row, double* want, float* magnitude) const {
    for (std::int64_t i = 0; i < extent_.m; ++i) {
      want[i] = load(a_.type, a_.row(0, i), row);
      magnitude[i] = 0;
    }
  }

  // exp(t) with t = x - max. An error of 2^-24 |t| in t is one of as much in exp(t), and so it is
  // on average in the sum, which has an error of 2^-24 for each of its terms as well.
  void softmax(double* want, float* magnitude) const {
    const double max = *std::ranges::max_element(x_);
    double sum = 0, drift = 0;
    for (std::size_t j = 0; j < x_.size(); ++j) {
      const double t = static_cast<double>(x_[j]) - max;
      want[j] = std::exp(t);
      sum += want[j];
      drift += want[j] * -t;
    }
    const double common = drift / sum + count() + 16;
    for (std::size_t j = 0; j < x_.size(); ++j) {
      want[j] /= sum;
      magnitude[j] = static_cast<float>(want[j] * (common + max - static_cast<double>(x_[j])));
    }
  }

  // The mean is off by 2^-24 n times the mean magnitude, hence each difference from it; the
  // variance by that number of units, relatively.
  void layernorm(double* want, float* magnitude) const {
    double sum = 0, size = 0;
    for (const float x : x_) {
      sum += static_cast<double>(x);
      size += std::fabs(static_cast<double>(x));
    }
    const double mean = sum / count(), mean_size = size / count();
    double squares = 0;
    for (const float x : x_) {
      const double d = static_cast<double>(x) - mean;
      squares += d * d;
    }
    const double inverse = 1 / std::sqrt(squares / count() + kLayernormEpsilon);
    for (std::size_t j = 0; j < x_.size(); ++j) {
      const double d = static_cast<double>(x_[j]) - mean;
      const double scale = static_cast<double>(scale_[j]), shift = static_cast<double>(shift_[j]);
      want[j] = d * inverse * scale + shift;
      magnitude[j] = static_cast<float>(
          (std::fabs(scale) * inverse * (std::fabs(d) + mean_size) + std::fabs(shift)) *
          (count() + 16));
    }
  }

  void reduce(double* want, float* magnitude) const {
    *magnitude = 0;
    if (p_.function == Function::max) {
      *want = *std::ranges::max_element(x_);
      return;
    }
    double sum = 0, size = 0;
    for (const float x : x_) {
      sum += static_cast<double>(x);
      size += std::fabs(static_cast<double>(x));
    }
    *want = sum;
    *magnitude = static_cast<float>(size * count());
  }

  // Both smooth functions are held to what their usual formulas give in f32: gelu's takes 1 + erf,
  // which loses its relative precision where that is near 0.
  void map(float from, double* want, float* magnitude) const {
    const double x = static_cast<double>(from);
    *magnitude = 0;
    if (p_.function == Function::relu) {
      *want = x < 0 ? 0 : x;
      return;
    }
    if (p_.function == Function::gelu) {
      *want = x * 0.5 * std::erfc(-x * std::sqrt(0.5));
      *magnitude = 4 * std::fabs(from);
      return;
    }
    *want = x / (1 + std::exp(-x));
    *magnitude = static_cast<float>(std::fabs(*want) * (std::fabs(x) + 8));
  }

  const Problem& p_;
  const Strided& a_;
  const Strided& b_;
  Extent extent_;
  std::vector<float> x_, scale_, shift_;
};

std::vector<std::int64_t> some_rows(std::int64_t count, std::int64_t wanted, std::uint64_t seed) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(count));
  std::iota(rows.begin(), rows.end(), std::int64_t{0});
  if (wanted >= count) return rows;
  Rng rng(seed, 0x5a);
  std::set<std::int64_t> chosen = {0, count - 1};
  while (static_cast<std::int64_t>(chosen.size()) < wanted) {
    chosen.insert(static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(count))));
  }
  return {chosen.begin(), chosen.end()};
}

std::int64_t grain(std::int64_t elements_of_a_row) {
  return (1 << 14) / (elements_of_a_row + 1) + 1;
}

}  // namespace

Strided left_operand(const Problem& p, const Strided& a, std::vector<std::byte>& storage) {
  if (p.op != Op::conv2d) return a;
  const Convolution& c = p.conv;
  const auto size = static_cast<std::int64_t>(size_of(p.in));
  const std::int64_t pixel = c.channels * size;
  storage.assign(static_cast<std::size_t>(p.m * p.k * size), std::byte{0});
  for_ranges(p.m, grain(p.k), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t x = row % c.out_width() * c.stride - c.pad;
      const std::int64_t y = row / c.out_width() % c.out_height() * c.stride - c.pad;
      const std::int64_t image = row / (c.out_width() * c.out_height());
      std::byte* to = storage.data() + row * p.k * size;
      for (std::int64_t at = 0; at < c.filter_height * c.filter_width; ++at, to += pixel) {
        const std::int64_t from_y = y + at / c.filter_width, from_x = x + at % c.filter_width;
        if (from_y < 0 || from_y >= c.height || from_x < 0 || from_x >= c.width) continue;
        std::memcpy(to, a.row(0, (image * c.height + from_y) * c.width + from_x),
                    static_cast<std::size_t>(pixel));
      }
    }
  });
  return {storage.data(), p.in, p.m, p.k, 1, p.k, p.m * p.k};
}

Area area_of_c(const Problem& p, const Extent& e) {
  if (p.op == Op::transpose) return {e.n, e.m};
  if (p.op == Op::reduce) return {e.m, 1};
  return {e.m, e.n};
}

void compute_rows(const Problem& p, const Strided& a, const Strided& b, const Extent& e,
                  std::int64_t begin, std::int64_t end, double* want, float* magnitude) {
  const std::int64_t cols = area_of_c(p, e).cols;
  for_ranges(end - begin, grain(p.op == Op::transpose ? e.m : e.n),
             [&](std::int64_t first, std::int64_t last) {
               Rows rows(p, a, b, e);
               for (std::int64_t r = first; r < last; ++r) {
                 rows.compute(begin + r, want + r * cols, magnitude + r * cols);
               }
             });
}

Reference reference_by_rows(const Problem& p, const Strided& a, const Strided& b, const Extent& e,
                            std::uint64_t seed) {
  Reference result;
  result.k = 1;
  const Area area = area_of_c(p, e);
  if (e.m == 0 || e.n == 0) return result;
  // What a row costs is what it reads.
  const std::int64_t row = std::max(area.cols, p.op == Op::reduce ? e.n : 1);
  result.full = area.rows <= kFullResults / row;
  const std::int64_t wanted = std::max<std::int64_t>(16, kFullResults / 4 / row);
  Strip strip;
  strip.rows = some_rows(area.rows, result.full ? area.rows : wanted, seed);
  strip.cols.resize(static_cast<std::size_t>(area.cols));
  std::iota(strip.cols.begin(), strip.cols.end(), std::int64_t{0});
  const auto rows = static_cast<std::int64_t>(strip.rows.size());
  strip.sum.resize(static_cast<std::size_t>(rows * area.cols));
  strip.magnitude.resize(strip.sum.size());
  for_ranges(rows, grain(row), [&](std::int64_t begin, std::int64_t end) {
    Rows some(p, a, b, e);
    for (std::int64_t r = begin; r < end; ++r) {
      some.compute(strip.rows[static_cast<std::size_t>(r)], strip.sum.data() + r * area.cols,
                   strip.magnitude.data() + r * area.cols);
    }
  });
  result.strips.push_back(std::move(strip));
  return result;
}

Agreement compare_by_rows(const Problem& p, const Strided& a, const Strided& b, const Strided& c,
                          bool exact, double roundings) {
  const Extent e = whole(p);
  Tally total;
  std::mutex mutex;
  for_ranges(c.rows, grain(std::max(c.cols, p.n)), [&](std::int64_t begin, std::int64_t end) {
    Rows rows(p, a, b, e);
    const auto cols = static_cast<std::size_t>(c.cols);
    std::vector<double> want(cols);
    std::vector<float> magnitude(cols), line(cols);
    Terms terms = terms_by_rows(p);
    terms.relative *= roundings;
    const double edge = overflow_edge(p.out);
    Tally tally;
    for (std::int64_t r = begin; r < end; ++r) {
      rows.compute(r, want.data(), magnitude.data());
      widen(c.type, c.row(0, r), c.cols, line.data());
      for (std::size_t j = 0; j < cols; ++j) {
        const Expected x{want[j], static_cast<double>(magnitude[j]), terms};
        judge(tally, x, static_cast<double>(line[j]), exact ? rounded(p.out, want[j]) : 0, exact,
              edge, std::numeric_limits<double>::infinity(),
              r * c.cols + static_cast<std::int64_t>(j));
      }
    }
    const std::lock_guard lock(mutex);
    join(total, tally);
  });
  return conclude(p, total, c.rows * c.cols, false);
}

std::string weighed_what(const Problem& p) {
  if (by_rows(p)) return "all results";
  return fmt::format("weighted sums of {} results", freivalds_group(p.out));
}

Terms terms_by_rows(const Problem& p) {
  Terms terms;
  terms.relative = unit_roundoff(p.out);
  terms.accumulate = 0x1p-23;
  // Whatever passes through f32 may come so near to 0 that nothing is left of it.
  terms.floor = half_subnormal(p.out) + 0x1p-120;
  return terms;
}

}  // namespace tilewright
