// SPDX-License-Identifier: Apache-2.0
// Operands of one problem, a baseline's result on them, and the bound it must meet. Results are
// computed in a child: a library that is loaded reads its environment once, and other tests need
// to load it under another.
#pragma once

#include "base/rng.h"
#include "baseline/baseline.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace tilewright {

struct Operands {
  Problem p;
  std::vector<std::byte> a, b, c, before;  // before: C as it was
  std::int64_t stride_a = 0, stride_b = 0, stride_c = 0;

  // Normal values; gaps and, where C is not to be read, all of C hold NaN.
  Operands(const Problem& problem, bool poison, std::uint64_t seed) : p(problem) {
    Rng rng(seed);
    stride_a = p.a_rows() * p.a_stride();
    stride_b = p.b_rows() * p.b_stride();
    stride_c = p.m * p.c_stride();
    a = filled(p.in, stride_a, p.a_cols(), p.a_stride(), rng, false);
    b = filled(p.in, stride_b, p.b_cols(), p.b_stride(), rng, false);
    c = filled(p.out, stride_c, p.n, p.c_stride(), rng, poison);
    before = c;
  }
  [[nodiscard]] tw_cpu_gemm_args args(float alpha, float beta) {
    return {a.data(),     b.data(),     c.data(),     p.m,     p.n,      p.k,
            p.a_stride(), p.b_stride(), p.c_stride(), p.batch, stride_a, stride_b,
            stride_c,     alpha,        beta,         nullptr, nullptr,  0};
  }

 private:
  std::vector<std::byte> filled(ElementType type, std::int64_t stride, std::int64_t cols,
                                std::int64_t ld, Rng& rng, bool poison) const {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    std::vector<std::byte> bytes(static_cast<std::size_t>(stride * p.batch) * size_of(type));
    for (std::int64_t i = 0; i < stride * p.batch; ++i) {
      const bool gap = i % ld >= cols;
      store(type, bytes.data(), i, gap || poison ? nan : rng.normal());
    }
    return bytes;
  }
};

inline std::vector<double> decoded(ElementType type, const std::vector<std::byte>& bytes) {
  std::vector<double> values(bytes.size() / size_of(type));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = load(type, bytes.data(), static_cast<std::int64_t>(i));
  }
  return values;
}

// The first element outside the bound of DESIGN section 6.2, or empty.
inline std::string outside_bound(const Operands& o, float alpha, float beta) {
  const Problem& p = o.p;
  const double eps = std::ldexp(1.0, -24);
  const std::vector<double> a = decoded(p.in, o.a), b = decoded(p.in, o.b);
  const std::int64_t a_step = p.a_transposed ? p.a_stride() : 1;  // along k
  const std::int64_t b_step = p.b_transposed ? 1 : p.b_stride();
  for (std::int64_t i = 0; i < p.batch * p.m; ++i) {
    const std::int64_t batch = i / p.m, row = i % p.m;
    for (std::int64_t col = 0; col < p.c_stride(); ++col) {
      const std::int64_t at = batch * o.stride_c + row * p.c_stride() + col;
      if (col >= p.n) {
        const auto size = size_of(p.out);
        const auto offset = static_cast<std::size_t>(at) * size;
        if (std::memcmp(o.c.data() + offset, o.before.data() + offset, size) != 0) {
          return "wrote into a row gap";
        }
        continue;
      }
      const double* x = a.data() + batch * o.stride_a + (p.a_transposed ? row : row * p.a_stride());
      const double* y = b.data() + batch * o.stride_b + (p.b_transposed ? col * p.b_stride() : col);
      double sum = 0, magnitude = 0;
      for (std::int64_t l = 0; l < p.k; ++l) {
        const double term = x[l * a_step] * y[l * b_step];
        sum += term;
        magnitude += std::abs(term);
      }
      double want = alpha * sum;
      magnitude *= std::abs(alpha);
      if (beta != 0) {
        const double old = beta * load(p.out, o.before.data(), at);
        want += old;
        magnitude += std::abs(old);
      }
      const double got = load(p.out, o.c.data(), at);
      const double bound = unit_roundoff(p.out) * std::abs(want) +
                           2 * static_cast<double>(p.k + 4) * eps * magnitude +
                           half_subnormal(p.out);
      if (!(std::abs(got - want) <= bound)) {
        return "row " + std::to_string(row) + " column " + std::to_string(col) + ": " +
               std::to_string(got) + ", want " + std::to_string(want);
      }
    }
  }
  return {};
}

}  // namespace tilewright
