// SPDX-License-Identifier: Apache-2.0
// The bounds of bounds.h, and comparing a result with a reference.
#include "verify/bounds.h"

#include "verify/ranges.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <tuple>

namespace tilewright {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Tally {
  std::optional<Mismatch> first;
  double max_ratio = 0, max_abs_error = 0, error2 = 0, rounding2 = 0;

  void add(const Tally& other) {
    if (other.first) {
      const std::int64_t count = (first ? first->count : 0) + other.first->count;
      const auto place = [](const Mismatch& m) { return std::tuple(m.batch, m.row, m.col); };
      if (!first || place(*other.first) < place(*first)) {
        first = other.first;
      }
      first->count = count;
    }
    max_ratio = std::max(max_ratio, other.max_ratio);
    max_abs_error = std::max(max_abs_error, other.max_abs_error);
    error2 += other.error2;
    rounding2 += other.rounding2;
  }
};

bool exactly(ElementType out, double got, double want, double* ratio) {
  const double right = rounded(out, want);
  const bool equal = got == right || (std::isnan(got) && std::isnan(right));
  *ratio = equal ? 0 : kInfinity;
  return equal;
}

// One row of a strip against its expectation.
class RowCheck {
 public:
  RowCheck(const Problem& p, const Strided& c, const Expectation& x, bool with_norm)
      : p_(p), c_(c), x_(x), with_norm_(with_norm), history_(repeated(x.beta, x.calls)) {
    scaled_ = x.alpha != 1 || x.beta != 0;
    terms_ = error_terms(p, x.reference->k, scaled_);
    line_.resize(static_cast<std::size_t>(c.cols));
    if (x.beta != 0) before_.resize(line_.size());
  }

  void row(const Strip& strip, std::int64_t r, Tally* tally) {
    const std::int64_t row = strip.rows[static_cast<std::size_t>(r)];
    const auto cols = strip.cols.size();
    widen(c_.type, c_.row(strip.batch, row), c_.cols, line_.data());
    if (x_.beta != 0) {
      const std::int64_t at = (strip.batch * c_.rows + row) * c_.row_bytes();
      widen(c_.type, x_.before.data() + at, c_.cols, before_.data());
    }
    const bool bounded = !strip.magnitude.empty();
    for (std::size_t j = 0; j < cols; ++j) {
      const std::size_t at = static_cast<std::size_t>(r) * cols + j;
      const std::int64_t col = strip.cols[j];
      const double magnitude = bounded ? static_cast<double>(strip.magnitude[at]) : 0;
      element(strip.batch, row, col, strip.sum[at], magnitude, tally);
    }
  }

 private:
  void element(std::int64_t batch, std::int64_t row, std::int64_t col, double want,
               double magnitude, Tally* tally) {
    const double got = static_cast<double>(line_[static_cast<std::size_t>(col)]);
    Terms terms = terms_;
    if (scaled_) {
      want *= x_.alpha * history_.sum;
      magnitude *= std::fabs(x_.alpha) * history_.sum;
      if (x_.beta != 0) {
        const double first = static_cast<double>(before_[static_cast<std::size_t>(col)]);
        const double kept = history_.kept * first;
        want += kept;
        magnitude += std::fabs(kept);
        if (x_.calls > 1) {
          // Every call rounded: sum_i beta^(n-i) u |C_i|, |C_i| <= 2 (|C_n| + 2 |C_0|).
          terms.floor = history_.sum * (terms.floor + 2 * terms.relative *
                                                          (std::fabs(want) + 2 * std::fabs(first)));
        }
      }
    }
    double ratio = 0;
    const bool right = x_.exact ? exactly(p_.out, got, want, &ratio)
                                : within(p_.out, terms, got, want, magnitude, &ratio);
    const double error = std::fabs(got - want);
    if (!right) {
      if (!tally->first) {
        const double allowed = x_.exact ? 0
                                        : terms.relative * std::fabs(want) +
                                              terms.accumulate * magnitude + terms.floor;
        tally->first = Mismatch{batch, row, col, got, want, allowed, 0};
      }
      ++tally->first->count;
    }
    tally->max_ratio = std::max(tally->max_ratio, ratio);
    if (std::isfinite(error)) tally->max_abs_error = std::max(tally->max_abs_error, error);
    if (with_norm_) {
      const double rounding = rounded(p_.out, want) - want;
      tally->error2 += error * error;
      tally->rounding2 += rounding * rounding;
    }
  }

  const Problem& p_;
  const Strided& c_;
  const Expectation& x_;
  bool with_norm_, scaled_ = false;
  Repeated history_;
  Terms terms_;
  std::vector<float> line_, before_;
};

}  // namespace

Terms error_terms(const Problem& p, std::int64_t k, bool scaled) {
  const double unit = p.acc == Accumulator::f16 ? 0x1p-11 : 0x1p-24;
  const double operations = static_cast<double>(k) + (scaled ? 3 : 0);
  Terms terms;
  terms.relative = unit_roundoff(p.out);
  // The magnitude itself was accumulated in f32 and may be low by k 2^-24 of itself.
  terms.accumulate = 2 * operations * unit * (1 + operations * 0x1p-23);
  // f32 products and sums round absolutely near zero; only bf16 inputs can come so low.
  terms.floor = half_subnormal(p.out) + 2 * operations * 0x1p-149;
  return terms;
}

double overflow_edge(ElementType type) {
  switch (type) {
    case ElementType::f16:
      return 65520;
    case ElementType::bf16:
      return 0x1.ffp127;
    case ElementType::f32:
      break;
  }
  return 0x1.ffffffp127;
}

bool within(ElementType out, const Terms& terms, double got, double want, double magnitude,
            double* ratio) {
  *ratio = kInfinity;
  if (std::isnan(want) || std::isinf(want)) {
    const bool equal = got == want || (std::isnan(want) && std::isnan(got));
    if (equal) *ratio = 0;
    return equal;
  }
  if (std::isnan(got)) return false;
  const double drift = terms.accumulate * magnitude;  // of the f32 result, before its rounding
  const double edge = overflow_edge(out);
  if (std::isinf(got)) {
    if (std::copysign(want, got) != want || std::fabs(want) + drift < edge) return false;
    *ratio = std::fabs(want) >= edge ? 0 : (edge - std::fabs(want)) / drift;
    return true;
  }
  if (std::fabs(want) - drift >= edge) return false;  // 65504 is not a rounding of this
  const double error = std::fabs(got - want);
  const double allowed = terms.relative * std::fabs(want) + drift + terms.floor;
  *ratio = error == 0 ? 0 : error / allowed;
  return error <= allowed;
}

std::string Mismatch::text() const {
  return fmt::format("C[{}][{},{}] = {:.9g}, should be {:.9g} within {:.3g}; {} results are off",
                     batch, row, col, got, want, allowed, count);
}

Repeated repeated(double beta, std::int64_t calls) {
  if (beta == 0) return {};
  Repeated r{0, 1};
  for (std::int64_t i = 0; i < calls; ++i) {
    if (beta == 1) return {static_cast<double>(calls), 1};
    r.sum = 1 + beta * r.sum;
    r.kept *= beta;
    if (r.kept == 0) break;  // no longer changes
  }
  return r;
}

Agreement compare(const Problem& p, const Strided& c, const Expectation& x, bool with_norm) {
  Agreement agreement;
  Tally total;
  std::mutex mutex;
  for (const Strip& strip : x.reference->strips) {
    const auto rows = static_cast<std::int64_t>(strip.rows.size());
    const auto cols = static_cast<std::int64_t>(strip.cols.size());
    agreement.results += rows * cols;
    for_ranges(rows, (1 << 15) / (cols + 1) + 1, [&](std::int64_t begin, std::int64_t end) {
      Tally tally;
      RowCheck check(p, c, x, with_norm);
      for (std::int64_t r = begin; r < end; ++r) check.row(strip, r, &tally);
      const std::lock_guard lock(mutex);
      total.add(tally);
    });
  }
  agreement.first = total.first;
  agreement.max_ratio = total.max_ratio;
  agreement.max_abs_error = total.max_abs_error;
  if (with_norm && total.error2 != 0) {
    agreement.norm_ratio = std::sqrt(total.error2 / total.rounding2);
  }
  return agreement;
}

bool norm_applies(const Problem& p, std::int64_t results) {
  return p.out != ElementType::f32 && p.acc == Accumulator::f32 && results >= kNormResults;
}

}  // namespace tilewright
