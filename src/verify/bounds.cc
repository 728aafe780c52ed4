// SPDX-License-Identifier: Apache-2.0
// The bounds of bounds.h, and comparing a result with a reference.
#include "verify/bounds.h"

#include "verify/ranges.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>

namespace tilewright {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Tally {
  std::optional<Mismatch> first;
  double max_ratio = 0, max_abs_error = 0, error2 = 0, rounding2 = 0;

  void add(const Tally& other) {
    if (other.first) {
      const std::int64_t count = (first ? first->count : 0) + other.first->count;
      if (!first ||
          std::pair(other.first->row, other.first->col) < std::pair(first->row, first->col)) {
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

Agreement compare(const Problem& p, const Strided& c, const Expectation& x, bool with_norm) {
  Agreement agreement;
  const bool scaled = x.alpha != 1 || x.beta != 0;
  const Terms terms = error_terms(p, x.reference->k, scaled);
  const std::int64_t before_cols = c.cols;
  Tally total;
  std::mutex mutex;
  for (const Strip& strip : x.reference->strips) {
    const auto rows = static_cast<std::int64_t>(strip.rows.size());
    const auto cols = static_cast<std::int64_t>(strip.cols.size());
    agreement.results += rows * cols;
    const bool bounded = !strip.magnitude.empty();
    for_ranges(rows, (1 << 15) / (cols + 1) + 1, [&](std::int64_t begin, std::int64_t end) {
      Tally tally;
      std::vector<float> line(static_cast<std::size_t>(c.cols));
      std::vector<float> before(static_cast<std::size_t>(x.beta != 0 ? c.cols : 0));
      for (std::int64_t r = begin; r < end; ++r) {
        const std::int64_t row = strip.rows[static_cast<std::size_t>(r)];
        widen(c.type, c.row(strip.batch, row), c.cols, line.data());
        if (x.beta != 0) {
          const std::int64_t at = (strip.batch * c.rows + row) * before_cols;
          widen(c.type, x.before.data() + at * static_cast<std::int64_t>(size_of(c.type)), c.cols,
                before.data());
        }
        for (std::int64_t j = 0; j < cols; ++j) {
          const auto at = static_cast<std::size_t>(r * cols + j);
          const std::int64_t col = strip.cols[static_cast<std::size_t>(j)];
          const double got = static_cast<double>(line[static_cast<std::size_t>(col)]);
          double want = strip.sum[at];
          double magnitude = bounded ? static_cast<double>(strip.magnitude[at]) : 0;
          if (scaled) {
            want *= x.alpha;
            magnitude *= std::fabs(x.alpha);
            if (x.beta != 0) {
              const double kept =
                  x.beta * static_cast<double>(before[static_cast<std::size_t>(col)]);
              want += kept;
              magnitude += std::fabs(kept);
            }
          }
          double ratio = 0;
          const bool right = x.exact ? exactly(p.out, got, want, &ratio)
                                     : within(p.out, terms, got, want, magnitude, &ratio);
          const double error = std::fabs(got - want);
          if (!right) {
            if (!tally.first) {
              const double allowed = x.exact ? 0
                                             : terms.relative * std::fabs(want) +
                                                   terms.accumulate * magnitude + terms.floor;
              tally.first = Mismatch{strip.batch, row, col, got, want, allowed, 0};
            }
            ++tally.first->count;
          }
          tally.max_ratio = std::max(tally.max_ratio, ratio);
          if (std::isfinite(error)) tally.max_abs_error = std::max(tally.max_abs_error, error);
          if (with_norm) {
            const double rounding = rounded(p.out, want) - want;
            tally.error2 += error * error;
            tally.rounding2 += rounding * rounding;
          }
        }
      }
      const std::lock_guard lock(mutex);
      total.add(tally);
    });
    if (total.first && !agreement.first) agreement.first = total.first;
  }
  if (agreement.first) agreement.first->count = total.first->count;
  agreement.max_ratio = total.max_ratio;
  agreement.max_abs_error = total.max_abs_error;
  if (with_norm) {
    agreement.norm_ratio = total.error2 == 0 ? 0 : std::sqrt(total.error2 / total.rounding2);
  }
  return agreement;
}

bool norm_applies(const Problem& p, std::int64_t results) {
  return p.out != ElementType::f32 && p.acc == Accumulator::f32 && results >= kNormResults;
}

}  // namespace tilewright
