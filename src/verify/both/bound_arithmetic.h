// SPDX-License-Identifier: Apache-2.0
// The arithmetic of the bounds (bounds.h, freivalds.h) for one number, written once: the host's
// compiler and the GPU's both read this file, so it includes nothing.
#pragma once

namespace tilewright {

struct Terms {
  double relative = 0;    // times |ref|
  double accumulate = 0;  // times the magnitude
  double floor = 0;
};

// What repeated calls with beta != 0 make of a product, as one: C_n = sum * (alpha A B) + kept *
// C_0. Errors of the calls add up with weights whose total is `sum` too.
struct Accumulation {
  double alpha = 1;
  double sum = 1, kept = 0;
  bool scaled = false;    // alpha is not 1 or beta not 0
  bool reads = false;     // beta is not 0
  bool repeated = false;  // more than one call
};

struct Expected {
  double want = 0, magnitude = 0;
  Terms terms;
};

constexpr double absolute(double x) {
  return x < 0 ? -x : x;
}
constexpr bool is_nan(double x) {
  return x != x;
}
constexpr bool is_finite(double x) {
  return x - x == 0;
}

// `product` and `magnitude` of A B; `before` is what C held.
constexpr Expected expected(const Terms& terms, double product, double magnitude,
                            const Accumulation& how, double before) {
  Expected x{product, magnitude, terms};
  if (!how.scaled) return x;
  x.want *= how.alpha * how.sum;
  x.magnitude *= absolute(how.alpha) * how.sum;
  if (!how.reads) return x;
  const double kept = how.kept * before;
  x.want += kept;
  x.magnitude += absolute(kept);
  if (how.repeated) {
    // Every call rounded: sum_i beta^(n-i) u |C_i|, |C_i| <= 2 (|C_n| + 2 |C_0|).
    x.terms.floor =
        how.sum * (terms.floor + 2 * terms.relative * (absolute(x.want) + 2 * absolute(before)));
  }
  return x;
}

constexpr double allowed_error(const Expected& x) {
  return x.terms.relative * absolute(x.want) + x.terms.accumulate * x.magnitude + x.terms.floor;
}

// Whether `got` is right; `ratio` gets |err| / bound, `infinity` if it is not. `edge` rounds to
// Inf.
constexpr bool within_bound(const Expected& x, double edge, double infinity, double got,
                            double* ratio) {
  *ratio = infinity;
  const double want = x.want;
  if (!is_finite(want)) {
    const bool equal = got == want || (is_nan(want) && is_nan(got));
    if (equal) *ratio = 0;
    return equal;
  }
  if (is_nan(got)) return false;
  const double drift = x.terms.accumulate * x.magnitude;  // of the f32 result, before rounding
  if (!is_finite(got)) {
    if ((got < 0) != (want < 0) || absolute(want) + drift < edge) return false;
    *ratio = absolute(want) >= edge ? 0 : (edge - absolute(want)) / drift;
    return true;
  }
  if (absolute(want) - drift >= edge) return false;  // 65504 is not a rounding of this
  const double error = absolute(got - want);
  const double allowed = allowed_error(x);
  *ratio = error == 0 ? 0 : error / allowed;
  return error <= allowed;
}

// The same for a weighted sum of `width` results: how far it may be from `product` (for calls that
// read C: of sum * product + kept * before). `size` is |A| |B| 1, the others |C| 1 after and
// before.
struct WeighedSums {
  double product = 0, size = 0;
  double got = 0, got_size = 0;
  double before = 0, before_size = 0;
  double width = 0;
};
struct WeighedBound {
  double want = 0, allowed = 0;
};
constexpr WeighedBound weighed_bound(const Terms& terms, const WeighedSums& s,
                                     const Accumulation& how, double k, bool exact) {
  WeighedBound bound{s.product, 0};
  if (exact) return bound;
  const double drift = terms.accumulate * s.size + terms.floor * s.width;
  if (!how.reads) {
    // u |ref| <= u (|C| + the rest of the bound) / (1 - u); f64 itself errs far less.
    bound.allowed = (drift + terms.relative * (s.got_size + drift)) / (1 - 2 * terms.relative);
  } else {
    bound.want = how.sum * s.product + how.kept * s.before;
    bound.allowed = how.sum *
                    (drift + 2 * terms.relative * (s.got_size + drift + 2 * s.before_size)) /
                    (1 - 4 * terms.relative);
  }
  constexpr double unit = 1.0 / (1ULL << 50);
  bound.allowed += unit * k * s.size * how.sum;
  return bound;
}

// What one part of a comparison found; parts are put together in any order.
struct Tally {
  unsigned long long count = 0;  // of wrong results
  long long place = 0;           // of the first: its index among all results; valid if count > 0
  double got = 0, want = 0, allowed = 0;
  double max_ratio = 0, max_abs_error = 0;
  double error2 = 0, rounding2 = 0;  // sums of squares, for the normwise error
};
constexpr void join(Tally& into, const Tally& other) {
  if (other.count > 0 && (into.count == 0 || other.place < into.place)) {
    into.place = other.place;
    into.got = other.got;
    into.want = other.want;
    into.allowed = other.allowed;
  }
  into.count += other.count;
  if (other.max_ratio > into.max_ratio) into.max_ratio = other.max_ratio;
  if (other.max_abs_error > into.max_abs_error) into.max_abs_error = other.max_abs_error;
  into.error2 += other.error2;
  into.rounding2 += other.rounding2;
}

// One result against its expectation, noted. `right` is x.want rounded to the output type.
constexpr void judge(Tally& tally, const Expected& x, double got, double right, bool exact,
                     double edge, double infinity, long long place) {
  double ratio = 0;
  bool ok = true;
  if (exact) {
    ok = got == right || (is_nan(got) && is_nan(right));
    ratio = ok ? 0 : infinity;
  } else {
    ok = within_bound(x, edge, infinity, got, &ratio);
  }
  const double error = absolute(got - x.want);
  if (!ok) {
    join(tally, {1, place, got, x.want, exact ? 0 : allowed_error(x)});
  }
  if (ratio > tally.max_ratio) tally.max_ratio = ratio;
  if (is_finite(error) && error > tally.max_abs_error) tally.max_abs_error = error;
  const double rounding = right - x.want;
  tally.error2 += error * error;
  tally.rounding2 += rounding * rounding;
}

}  // namespace tilewright
