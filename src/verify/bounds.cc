// SPDX-License-Identifier: Apache-2.0
// The bounds of bounds.h, and comparing a result with a reference.
#include "verify/bounds.h"

#include "verify/operation.h"
#include "verify/ranges.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <mutex>

namespace tilewright {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// One row of a strip against its expectation.
class RowCheck {
 public:
  RowCheck(const Problem& p, const Strided& c, const Expectation& x, bool with_norm)
      : p_(p),
        c_(c),
        x_(x),
        rounds_(with_norm || x.exact),
        how_(accumulation(x.alpha, x.beta, x.calls)),
        terms_(error_terms(p, x.reference->k, how_.scaled)),
        edge_(overflow_edge(p.out)) {
    terms_.relative *= x.roundings;
    line_.resize(static_cast<std::size_t>(c.cols));
    if (how_.reads) before_.resize(line_.size());
  }

  void row(const Strip& strip, std::int64_t r, Tally* tally) {
    const std::int64_t row = strip.rows[static_cast<std::size_t>(r)];
    const auto cols = strip.cols.size();
    widen(c_.type, c_.row(strip.batch, row), c_.cols, line_.data());
    if (how_.reads) {
      const std::int64_t at = (strip.batch * c_.rows + row) * c_.row_bytes();
      widen(c_.type, x_.before.data() + at, c_.cols, before_.data());
    }
    const bool bounded = !strip.magnitude.empty();
    for (std::size_t j = 0; j < cols; ++j) {
      const std::size_t at = static_cast<std::size_t>(r) * cols + j;
      const std::int64_t col = strip.cols[j];
      const double magnitude = bounded ? static_cast<double>(strip.magnitude[at]) : 0;
      const double before =
          how_.reads ? static_cast<double>(before_[static_cast<std::size_t>(col)]) : 0;
      const Expected x = expected(terms_, strip.sum[at], magnitude, how_, before);
      judge(*tally, x, static_cast<double>(line_[static_cast<std::size_t>(col)]),
            rounds_ ? rounded(p_.out, x.want) : 0, x_.exact, edge_, kInfinity,
            (strip.batch * c_.rows + row) * c_.cols + col);
    }
  }

 private:
  const Problem& p_;
  const Strided& c_;
  const Expectation& x_;
  bool rounds_;
  Accumulation how_;
  Terms terms_;
  double edge_;
  std::vector<float> line_, before_;
};

}  // namespace

Terms error_terms(const Problem& p, std::int64_t k, bool scaled) {
  if (by_rows(p)) return terms_by_rows(p);
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
  return within_bound({want, magnitude, terms}, overflow_edge(out), kInfinity, got, ratio);
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

Accumulation accumulation(double alpha, double beta, std::int64_t calls) {
  const Repeated history = repeated(beta, calls);
  return {alpha, history.sum, history.kept, alpha != 1 || beta != 0, beta != 0, calls > 1};
}

Agreement conclude(const Problem& p, const Tally& tally, std::int64_t results, bool with_norm) {
  Agreement agreement;
  agreement.results = results;
  agreement.max_ratio = tally.max_ratio;
  agreement.max_abs_error = tally.max_abs_error;
  if (tally.count > 0) {
    agreement.first = Mismatch{tally.place / (p.c_rows() * p.c_cols()),
                               tally.place / p.c_cols() % p.c_rows(),
                               tally.place % p.c_cols(),
                               tally.got,
                               tally.want,
                               tally.allowed,
                               static_cast<std::int64_t>(tally.count)};
  }
  if (with_norm && tally.error2 != 0) {
    agreement.norm_ratio = std::sqrt(tally.error2 / tally.rounding2);
  }
  return agreement;
}

Agreement compare(const Problem& p, const Strided& c, const Expectation& x, bool with_norm) {
  std::int64_t results = 0;
  Tally total;
  std::mutex mutex;
  for (const Strip& strip : x.reference->strips) {
    const auto rows = static_cast<std::int64_t>(strip.rows.size());
    const auto cols = static_cast<std::int64_t>(strip.cols.size());
    results += rows * cols;
    for_ranges(rows, (1 << 15) / (cols + 1) + 1, [&](std::int64_t begin, std::int64_t end) {
      Tally tally;
      RowCheck check(p, c, x, with_norm);
      for (std::int64_t r = begin; r < end; ++r) check.row(strip, r, &tally);
      const std::lock_guard lock(mutex);
      join(total, tally);
    });
  }
  return conclude(p, total, results, with_norm);
}

bool norm_applies(const Problem& p, std::int64_t results) {
  return p.out != ElementType::f32 && p.acc == Accumulator::f32 && results >= kNormResults;
}

}  // namespace tilewright
