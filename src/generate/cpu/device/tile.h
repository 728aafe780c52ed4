// SPDX-License-Identifier: Apache-2.0
// The register tile: mr x nr accumulators that stay in registers while k passes, and the two ways
// to feed them: the outer product (A broadcast, B along n) and the inner product (both along k).
//
// A tile leaves the registers as mr * nr contiguous floats, never as halves: it can be taken up
// again for the next block of k, or added to another thread's, and is rounded once, in finish().
// That extra trip through the first-level cache costs about 1 % at k = 256 and keeps alpha, beta,
// output types and edges out of the unrolled code. Read next: pack.h, then the forms.
#ifndef TILEWRIGHT_GENERATE_CPU_DEVICE_TILE_H
#define TILEWRIGHT_GENERATE_CPU_DEVICE_TILE_H

#include "generate/cpu/device/team.h"

namespace tw::cpu {
namespace {  // NOLINT(google-build-namespaces): see types.h

// A packed panel of A holds mr rows in chunks of kChunk steps of k: strides are constants, so a
// tile needs one pointer for all its rows, and row-major A is packed by contiguous copies.
constexpr int64_t kChunk = 64;

// Lanes of B's registers come grouped (see isa_avx512.h) when they are widened in the tile.
template <class I, class B, int kRegs>
constexpr int kGroupOf = kRegs % I::template kGroup<B> == 0 ? I::template kGroup<B> : 1;

template <class I, int kMr, bool kTransA>
struct PackedA {
  const float* at;
  static constexpr int64_t kRun = kChunk;  // steps of k before next()
  typename I::Reg fill(int i, int64_t k) const {
    return I::fill(kTransA ? at[k * kMr + i] : at[i * kChunk + k]);
  }
  void next() { at += kMr * kChunk; }
};

// A as the caller stores it; rows past the edge repeat the last one and are never stored.
template <class I, class T, int kMr, bool kTransA>
struct PlainA {
  const T* row[kMr];
  int64_t step;
  static constexpr int64_t kRun = INT64_MAX;
  PlainA(const T* a, int64_t lda, int64_t rows) : step(kTransA ? lda : 1) {
    for (int i = 0; i < kMr; ++i) row[i] = a + min(i, rows - 1) * (kTransA ? 1 : lda);
  }
  typename I::Reg fill(int i, int64_t k) const {
    return I::fill_wide(row[i] + (kTransA ? k * step : k));
  }
  void next() {}
};

// One step of k. n counts the valid columns and matters only when kEdge. kPrefetch > 0 fetches B
// that many rows ahead, kPrefetch < 0 that many tiles ahead in the same row. Fetching past the
// matrix is harmless: a prefetch does not fault.
template <class I, int kMr, int kRegs, int kPrefetch, bool kEdge, bool kPairs, class A, class B>
[[gnu::always_inline]] inline void tile_step(typename I::Reg (&sum)[kMr][kRegs], const A& a,
                                             int64_t k, const B* b, int64_t ldb, int64_t n) {
  constexpr int kGroup = kGroupOf<I, B, kRegs>;
  typename I::Reg right[kRegs];
#pragma GCC unroll 32
  for (int v = 0; v < kRegs; v += kGroup) {
    const B* from = b + v * I::kWidth;
    if constexpr (kGroup > 1) {
      if constexpr (kEdge) {
        I::load_group_n(from, right + v, n - v * I::kWidth);
      } else {
        I::load_group(from, right + v);
      }
    } else if constexpr (kEdge) {
      right[v] = I::load_wide_n(from, n - v * I::kWidth);
    } else {
      right[v] = I::load_wide(from);
    }
  }
  if constexpr (kPrefetch != 0) {
    const char* ahead = reinterpret_cast<const char*>(
        kPrefetch > 0 ? b + kPrefetch * ldb : b - kPrefetch * kRegs * I::kWidth);
#pragma GCC unroll 32
    for (int at = 0; at < kRegs * I::kWidth * static_cast<int>(sizeof(B)); at += 64)
      I::prefetch(ahead + at);
  }
#pragma GCC unroll 32
  for (int i = 0; i < kMr; ++i) {
    const typename I::Reg left = a.fill(i, k);
#pragma GCC unroll 32
    for (int v = 0; v < kRegs; ++v) {
      if constexpr (kPairs) {
        sum[i][v] = I::dot_pairs(left, right[v], sum[i][v]);
      } else {
        sum[i][v] = I::fma(left, right[v], sum[i][v]);
      }
    }
  }
}

// out (+)= A[mr x k] * B[k x nr]; when kPairs, k counts pairs and A, B hold words of two halves.
template <class I, int kMr, int kNr, int kUnroll, int kPrefetch, bool kEdge, bool kPairs, class A,
          class B>
[[gnu::noinline]] void outer_tile(A a, const B* b, int64_t ldb, int64_t k, int64_t n, float* out,
                                  bool accumulate) {
  constexpr int kRegs = kNr / I::kWidth;
  typename I::Reg sum[kMr][kRegs];
#pragma GCC unroll 32
  for (int i = 0; i < kMr; ++i)
#pragma GCC unroll 32
    for (int v = 0; v < kRegs; ++v)
      sum[i][v] = accumulate ? I::load(out + i * kNr + v * I::kWidth) : I::zero();
  for (; k > 0; k -= A::kRun, a.next()) {
    const int64_t run = min(k, A::kRun);
    int64_t at = 0;
    for (; at + kUnroll <= run; at += kUnroll) {
#pragma GCC unroll 16
      for (int u = 0; u < kUnroll; ++u, b += ldb)
        tile_step<I, kMr, kRegs, kPrefetch, kEdge, kPairs>(sum, a, at + u, b, ldb, n);
    }
    if constexpr (kUnroll > 1) {
      for (; at < run; ++at, b += ldb)
        tile_step<I, kMr, kRegs, kPrefetch, kEdge, kPairs>(sum, a, at, b, ldb, n);
    }
  }
#pragma GCC unroll 32
  for (int i = 0; i < kMr; ++i)
#pragma GCC unroll 32
    for (int v = 0; v < kRegs; ++v) I::store(out + i * kNr + v * I::kWidth, sum[i][v]);
}

// One row of a finished tile: kRegs registers, n valid columns; the first one is `column` of C.
// kMore: there is a bias or an activation.
template <class I, class B, int kRegs, bool kMore, class Out>
[[gnu::always_inline]] inline void finish_row(const float* tile, Out* c, int64_t n,
                                              const tw_cpu_gemm_args& args, int64_t column) {
  constexpr int kGroup = kGroupOf<I, B, kRegs>;
  const typename I::Reg alpha = I::fill(args.alpha), beta = I::fill(args.beta);
  const bool reads_c = args.beta != 0.0f;
  const auto* bias = static_cast<const Out*>(args.bias);
  for (int v = 0; v < kRegs; v += kGroup) {
    typename I::Reg x[kGroup];
#pragma GCC unroll 2
    for (int g = 0; g < kGroup; ++g) x[g] = I::multiply(I::load(tile + (v + g) * I::kWidth), alpha);
    if constexpr (kGroup > 1) I::template ungroup<B>(x);
#pragma GCC unroll 2
    for (int g = 0; g < kGroup; ++g) {
      const int64_t at = (v + g) * I::kWidth;
      if (reads_c) x[g] = I::fma(beta, I::load_wide_n(c + at, n - at), x[g]);
      if constexpr (kMore) {
        if (at >= n) continue;
        if (bias != nullptr) x[g] = I::add(x[g], I::load_wide_n(bias + column + at, n - at));
        x[g] = activated<I>(x[g], args.activation);
      }
      I::store_narrow_n(c + at, x[g], n - at);
    }
  }
}
template <class I, class B, int kNr, class Out>
[[gnu::noinline]] void finish_more(const float* tile, Out* c, int64_t m, int64_t n,
                                   const tw_cpu_gemm_args& args, int64_t column) {
  for (int64_t i = 0; i < m; ++i, tile += kNr, c += args.ldc)
    finish_row<I, B, kNr / I::kWidth, true>(tile, c, n, args, column);
}

// c = activation(alpha * tile + beta * c + bias) on the valid m x n corner, rounded once to the
// output type. The tile's first column is `column` of C.
template <class I, class B, int kNr, class Out>
[[gnu::noinline]] void finish(const float* tile, Out* c, int64_t m, int64_t n,
                              const tw_cpu_gemm_args& args, int64_t column) {
  if (has_epilogue(args)) return finish_more<I, B, kNr>(tile, c, m, n, args, column);
  for (int64_t i = 0; i < m; ++i, tile += kNr, c += args.ldc)
    finish_row<I, B, kNr / I::kWidth, false>(tile, c, n, args, column);
}

// The tiles of a thread's box that outlive a block of k, or that wait for the other threads.
struct Parts {
  float* tiles;     // nullptr: every tile is finished at once
  int64_t m_tiles;  // tiles per column of tiles
  int64_t n_first;  // the column of C where tile column 0 begins
};

// The end of Split::kK. Every thread has left its tiles of the whole product in parts (`stride`
// bytes each); after the barrier thread t adds and finishes its share of the tiles. The order of
// the additions is fixed, so the result is repeatable. `again`: parts will be written once more.
template <class I, class B, int kMr, int kNr, class Out>
[[gnu::noinline]] void finish_split(const char* parts, int64_t stride, Out* c,
                                    const tw_cpu_gemm_args& args, const Dims& d, bool again,
                                    const tw_cpu_team& team) {
  team.barrier(team.state);
  const int64_t m_tiles = cdiv(d.m, kMr);
  const Range mine = part_of(m_tiles * cdiv(d.n, kNr), 1, team.threads, team.thread);
  for (int64_t t = mine.begin; t < mine.end; ++t) {
    alignas(64) float total[kMr * kNr];
    bool first = true;
    for (int64_t p = 0; p < team.threads; ++p) {
      if (part_of(d.k, kChunk, team.threads, p).size() == 0) continue;
      const float* from = reinterpret_cast<const float*>(parts + p * stride) + t * kMr * kNr;
      for (int64_t x = 0; x < kMr * kNr; x += I::kWidth)
        I::store(total + x,
                 first ? I::load(from + x) : I::add(I::load(total + x), I::load(from + x)));
      first = false;
    }
    const int64_t row = t % m_tiles * kMr, column = t / m_tiles * kNr;
    finish<I, B, kNr>(total, c + row * args.ldc + column, min(kMr, d.m - row),
                      min(kNr, d.n - column), args, column);
  }
  if (again) team.barrier(team.state);
}

}  // namespace
}  // namespace tw::cpu

#endif  // TILEWRIGHT_GENERATE_CPU_DEVICE_TILE_H
