// SPDX-License-Identifier: Apache-2.0
// What the result should be: products in f64 of the half inputs, and how large the terms were.
//
// A proof compares with sum = op(A) op(B), accumulated in f64 (exact for integers, else about
// K * 2^-53 of the magnitude), and bounds errors by magnitude = |op(A)| |op(B)|, accumulated in
// f32: it needs two digits, and f32 is twice as fast. Both are written for any processor and
// compiled three times, for AVX-512, AVX2 and none; the choice is made at run time.
//
// A problem too large to recompute for every candidate is sampled: some rows in full and some
// columns in full, always with the first and the last. What is not sampled is covered by Freivalds
// products (freivalds.h).
#pragma once

#include "problem/problem.h"
#include "verify/strided.h"

#include <cstdint>
#include <vector>

namespace tilewright {

// Element (i, j) of a matrix at data[i * row + j * col].
template <class T>
struct Grid {
  const T* data;
  std::int64_t row, col;
};

// out (m x n, packed) = a * b, or |a| * |b| in the second. Threaded.
void product(const Grid<float>& a, const Grid<float>& b, std::int64_t m, std::int64_t n,
             std::int64_t k, double* out);
void product(const Grid<float>& a, const Grid<double>& b, std::int64_t m, std::int64_t n,
             std::int64_t k, double* out);
void magnitude_product(const Grid<float>& a, const Grid<float>& b, std::int64_t m, std::int64_t n,
                       std::int64_t k, float* out);

// A part of the result: some rows crossed with some columns of one batch entry.
struct Strip {
  std::int64_t batch = 0;
  std::vector<std::int64_t> rows, cols;
  std::vector<double> sum;       // rows x cols
  std::vector<float> magnitude;  // rows x cols; empty if not asked for
};

struct Reference {
  std::vector<Strip> strips;
  bool full = true;    // the strips are the whole result
  std::int64_t k = 0;  // inner dimension summed over
};

// At most this many multiply-adds, and this many results, are recomputed in full.
inline constexpr std::int64_t kFullMultiplyAdds = std::int64_t{1} << 31;
inline constexpr std::int64_t kFullResults = std::int64_t{1} << 22;

// Sizes within the problem's own (ragged neighbours use the same storage).
struct Extent {
  std::int64_t m, n, k;
};
// `a` and `b` are storage as in the problem (packed or in an arena). `seed` chooses the sample,
// `most` is the number of multiply-adds up to which there is none.
[[nodiscard]] Reference reference(const Problem& problem, const Strided& a, const Strided& b,
                                  const Extent& extent, bool with_magnitude, std::uint64_t seed,
                                  std::int64_t most = kFullMultiplyAdds);
[[nodiscard]] inline Extent whole(const Problem& problem) {
  return {problem.m, problem.n, problem.k};
}

}  // namespace tilewright
