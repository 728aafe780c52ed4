// SPDX-License-Identifier: Apache-2.0
// The two matrix products behind every reference: packed panels, a register tile, three builds.
//
// Deliberately unlike a candidate: f64 (or f32 for magnitudes), one level of blocking, no half
// arithmetic, so that a mistake here and one there are unlikely to agree. The interface and what
// the numbers are for stand in reference.h.
#include "verify/reference.h"

#include "verify/ranges.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace tilewright {
namespace {

constexpr std::int64_t kDepth = 256;  // k of one packed block: a panel of B stays in L1 and L2

struct Range {
  std::int64_t first_m, last_m, first_n, last_n;
};

template <class T, int kBytes>
struct Vector {
  typedef T Type __attribute__((vector_size(kBytes)));  // GCC and clang lower it for any target
};

template <class T, class S, bool kAbsolute>
[[gnu::always_inline]] inline T value_of(S x) {
  return static_cast<T>(kAbsolute ? std::fabs(x) : x);
}

// c[kRows][2 vectors] += a-panel * b-panel; rows and cols say how much of the tile is real.
template <class T, int kBytes, int kRows>
[[gnu::always_inline]] inline void tile(const T* a, const T* b, std::int64_t depth, T* c,
                                        std::int64_t stride, std::int64_t rows, std::int64_t cols) {
  using V = typename Vector<T, kBytes>::Type;
  constexpr std::int64_t lanes = kBytes / static_cast<std::int64_t>(sizeof(T));
  V sum[kRows][2] = {};
  for (std::int64_t k = 0; k < depth; ++k) {
    V b0, b1;
    std::memcpy(&b0, b, sizeof b0);
    std::memcpy(&b1, b + lanes, sizeof b1);
    for (int r = 0; r < kRows; ++r) {
      sum[r][0] += a[r] * b0;
      sum[r][1] += a[r] * b1;
    }
    a += kRows;
    b += 2 * lanes;
  }
  T kept[kRows][2 * lanes];
  std::memcpy(kept, sum, sizeof kept);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t j = 0; j < cols; ++j) c[r * stride + j] += kept[r][j];
  }
}

// The rows and columns in `range` of the product, by one thread.
template <class T, class S, bool kAbsolute, int kBytes, int kRows>
[[gnu::always_inline]] inline void part_of(const Grid<float>& a, const Grid<S>& b, std::int64_t n,
                                           std::int64_t k, const Range& range, T* out) {
  constexpr std::int64_t width = 2 * kBytes / static_cast<std::int64_t>(sizeof(T));
  constexpr std::int64_t most_cols = 512;
  const auto [first_m, last_m, first_n, last_n] = range;
  std::vector<T> packed_b(static_cast<std::size_t>(kDepth * (most_cols + width)));
  T packed_a[kDepth * kRows];
  for (std::int64_t i = first_m; i < last_m; ++i) {
    std::fill(out + i * n + first_n, out + i * n + last_n, T{0});
  }
  for (std::int64_t j0 = first_n; j0 < last_n; j0 += most_cols) {
    const std::int64_t j1 = std::min(j0 + most_cols, last_n);
    for (std::int64_t k0 = 0; k0 < k; k0 += kDepth) {
      const std::int64_t depth = std::min(kDepth, k - k0);
      for (std::int64_t j = j0; j < j1; j += width) {
        T* panel = packed_b.data() + (j - j0) * kDepth;
        const std::int64_t cols = std::min(width, j1 - j);
        for (std::int64_t p = 0; p < depth; ++p) {
          const S* from = b.data + (k0 + p) * b.row + j * b.col;
          for (std::int64_t c = 0; c < cols; ++c) {
            panel[p * width + c] = value_of<T, S, kAbsolute>(from[c * b.col]);
          }
          for (std::int64_t c = cols; c < width; ++c) panel[p * width + c] = T{0};
        }
      }
      for (std::int64_t i = first_m; i < last_m; i += kRows) {
        const std::int64_t rows = std::min<std::int64_t>(kRows, last_m - i);
        for (std::int64_t p = 0; p < depth; ++p) {
          const float* from = a.data + i * a.row + (k0 + p) * a.col;
          for (std::int64_t r = 0; r < kRows; ++r) {
            packed_a[p * kRows + r] =
                r < rows ? value_of<T, float, kAbsolute>(from[r * a.row]) : T{0};
          }
        }
        for (std::int64_t j = j0; j < j1; j += width) {
          tile<T, kBytes, kRows>(packed_a, packed_b.data() + (j - j0) * kDepth, depth,
                                 out + i * n + j, n, rows, std::min(width, j1 - j));
        }
      }
    }
  }
}

template <class T, class S, bool kAbsolute>
void plain(const Grid<float>& a, const Grid<S>& b, std::int64_t n, std::int64_t k, const Range& r,
           T* out) {
  part_of<T, S, kAbsolute, 16, 4>(a, b, n, k, r, out);
}

#if defined(__x86_64__)
template <class T, class S, bool kAbsolute>
__attribute__((target("avx2,fma"))) void avx2(const Grid<float>& a, const Grid<S>& b,
                                              std::int64_t n, std::int64_t k, const Range& r,
                                              T* out) {
  part_of<T, S, kAbsolute, 32, 6>(a, b, n, k, r, out);
}
template <class T, class S, bool kAbsolute>
__attribute__((target("avx512f,avx2,fma,prefer-vector-width=512"))) void avx512(
    const Grid<float>& a, const Grid<S>& b, std::int64_t n, std::int64_t k, const Range& r,
    T* out) {
  part_of<T, S, kAbsolute, 64, 12>(a, b, n, k, r, out);
}
#endif

template <class T, class S, bool kAbsolute>
void run(const Grid<float>& a, const Grid<S>& b, std::int64_t m, std::int64_t n, std::int64_t k,
         T* out) {
  auto* part = &plain<T, S, kAbsolute>;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) {
    part = &avx512<T, S, kAbsolute>;
  } else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    part = &avx2<T, S, kAbsolute>;
  }
#endif
  // Each thread takes whole columns or whole rows, whichever there are more of; a range is worth a
  // thread from about a million multiply-adds on.
  constexpr std::int64_t worth = 1 << 20;
  const std::int64_t many = std::max(m, n);
  const std::int64_t each = std::max<std::int64_t>(1, k * std::min(m, n));
  for_ranges(many, std::max<std::int64_t>(32, worth / each),
             [&](std::int64_t begin, std::int64_t end) {
               const Range r = n >= m ? Range{0, m, begin, end} : Range{begin, end, 0, n};
               part(a, b, n, k, r, out);
             });
}

}  // namespace

void product(const Grid<float>& a, const Grid<float>& b, std::int64_t m, std::int64_t n,
             std::int64_t k, double* out) {
  run<double, float, false>(a, b, m, n, k, out);
}

void product(const Grid<float>& a, const Grid<double>& b, std::int64_t m, std::int64_t n,
             std::int64_t k, double* out) {
  run<double, double, false>(a, b, m, n, k, out);
}

void magnitude_product(const Grid<float>& a, const Grid<float>& b, std::int64_t m, std::int64_t n,
                       std::int64_t k, float* out) {
  run<float, float, true>(a, b, m, n, k, out);
}

}  // namespace tilewright
