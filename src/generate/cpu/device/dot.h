// SPDX-License-Identifier: Apache-2.0
// form=dot: B stored n x k (a torch weight) and A row-major: both run along k, so a tile multiplies
// registers of k by registers of k and adds their lanes once at the end.
//
// For small M: B is read where it lies, in nr parallel rows. The order of lanes does not matter to
// a sum, so bf16 widens by the cheap grouped load on both sides; with isa=avx512bf16 nothing is
// widened at all (vdpbf16ps: subnormals are flushed, see isa_avx512.h).
#ifndef TILEWRIGHT_GENERATE_CPU_DEVICE_DOT_H
#define TILEWRIGHT_GENERATE_CPU_DEVICE_DOT_H

#include "generate/cpu/device/pack.h"

namespace tw::cpu {
namespace {  // NOLINT(google-build-namespaces): see types.h

struct DotPlan {
  int mr = 1, nr = 4;         // rows of A times rows of B in a tile; one register of sums each
  PackA packa = PackA::kF32;  // kF32: each thread first widens its rows of A; kNone: at each use
  int unroll = 1;             // registers of k per loop turn
  int prefetch = 0;           // bytes ahead in every row of B; 0 = none
  Order order = Order::kNM;
  Split split = Split::kN;
};

// The workspace of one thread, in bytes; total = threads * (a + parts).
struct DotSpace {
  int64_t a, parts;
  constexpr int64_t total() const { return a + parts; }
};
constexpr DotSpace dot_space(const DotPlan& p, const Dims& d, int64_t threads) {
  const int64_t share =
      p.split == Split::kM ? cdiv(cdiv(d.m, p.mr), threads) * p.mr : roundup(d.m, p.mr);
  return {p.packa == PackA::kF32 ? share * roundup(d.k, kChunk) * 4 : 0,
          p.split == Split::kK ? roundup(share * roundup(d.n, p.nr) * 4, 64) : 0};
}

// Rows of one operand. Rows past the edge repeat the last one; their sums are never stored.
template <class T, int kRows>
struct Rows {
  const T* row[kRows];
  Rows(const T* first, int64_t ld, int64_t valid) {
#pragma GCC unroll 32
    for (int i = 0; i < kRows; ++i) row[i] = first + min(i, valid - 1) * ld;
  }
};

// kRegs registers of elements [at, at + kRegs * W) of a row; words of two if kPairs.
template <class I, bool kPairs, int kRegs, bool kTail, class T>
[[gnu::always_inline]] inline void load_run(const T* from, int64_t left, typename I::Reg* to) {
  if constexpr (kPairs) {
    to[0] = kTail ? I::load_pairs_n(from, left) : I::load_pairs(from);
  } else if constexpr (kSame<T, float>) {  // packed A: zeros up to a multiple of kChunk
    for (int g = 0; g < kRegs; ++g) to[g] = I::load(from + g * I::kWidth);
  } else if constexpr (kTail) {
    I::load_group_n(from, to, left);
  } else {
    I::load_group(from, to);
  }
}

// The one step along k of a dot tile: kRegs registers per row.
template <class I, class T, bool kPairs, bool kTail, int kPrefetch, class A, int kMr, int kNr>
[[gnu::always_inline]] inline void dot_step(typename I::Reg (&sum)[kMr][kNr], const Rows<A, kMr>& a,
                                            const Rows<T, kNr>& b, int64_t at, int64_t k) {
  constexpr int kRegs = kPairs ? 1 : I::template kGroup<T>;
  typename I::Reg left[kMr][kRegs], right[kRegs];
#pragma GCC unroll 32
  for (int i = 0; i < kMr; ++i) load_run<I, kPairs, kRegs, kTail>(a.row[i] + at, k - at, left[i]);
#pragma GCC unroll 32
  for (int j = 0; j < kNr; ++j) {
    load_run<I, kPairs, kRegs, kTail>(b.row[j] + at, k - at, right);
    if constexpr (kPrefetch > 0)
      I::prefetch(reinterpret_cast<const char*>(b.row[j] + at) + kPrefetch);
#pragma GCC unroll 32
    for (int i = 0; i < kMr; ++i) {
#pragma GCC unroll 2
      for (int g = 0; g < kRegs; ++g) {
        if constexpr (kPairs) {
          sum[i][j] = I::dot_pairs(left[i][g], right[g], sum[i][j]);
        } else {
          sum[i][j] = I::fma(left[i][g], right[g], sum[i][j]);
        }
      }
    }
  }
}

// out = A[mr x k] * B[nr x k]^T.
template <class I, class T, int kUnroll, int kPrefetch, bool kPairs, class A, int kMr, int kNr>
[[gnu::noinline]] void dot_tile(Rows<A, kMr> a, Rows<T, kNr> b, int64_t k, float* out) {
  constexpr int64_t kStep = I::kWidth * (kPairs ? 2 : I::template kGroup<T>);
  typename I::Reg sum[kMr][kNr];
#pragma GCC unroll 32
  for (int i = 0; i < kMr; ++i)
#pragma GCC unroll 32
    for (int j = 0; j < kNr; ++j) sum[i][j] = I::zero();
  int64_t at = 0;
  for (; at + kUnroll * kStep <= k; at += kUnroll * kStep) {
#pragma GCC unroll 8
    for (int u = 0; u < kUnroll; ++u)
      dot_step<I, T, kPairs, false, kPrefetch>(sum, a, b, at + u * kStep, k);
  }
  for (; at < k; at += kStep) dot_step<I, T, kPairs, true, 0>(sum, a, b, at, k);
#pragma GCC unroll 32
  for (int i = 0; i < kMr; ++i)
#pragma GCC unroll 32
    for (int j = 0; j < kNr; ++j) out[i * kNr + j] = I::sum(sum[i][j]);
}

// rows x k of A as rows of roundup(k, kChunk) floats, lanes grouped as load_group leaves them.
template <class I, bool kTransA, class T>
[[gnu::noinline]] void pack_a_rows(const T* a, int64_t lda, int64_t rows, int64_t k, float* to) {
  constexpr int kGroup = I::template kGroup<T>;
  constexpr int64_t kStep = I::kWidth * kGroup;
  static_assert(kChunk % kStep == 0);
  for (int64_t i = 0; i < rows; ++i, to += roundup(k, kChunk)) {
    for (int64_t x = 0; x < k; x += kStep) {
      if constexpr (kTransA) {
        for (int64_t u = 0; u < kStep; ++u)
          to[x + u % kGroup * I::kWidth + u / kGroup] =
              x + u < k ? widen(a[(x + u) * lda + i]) : 0.0f;
      } else {
        typename I::Reg wide[kGroup];
        I::load_group_n(a + i * lda + x, wide, k - x);
        for (int g = 0; g < kGroup; ++g) I::store(to + x + g * I::kWidth, wide[g]);
      }
    }
  }
}

// c = activation(alpha * tile + beta * c + bias); dot tiles are narrow, so one lane at a time. Only
// an activation takes a row's lanes together.
template <class I, int kNr, class Out>
[[gnu::noinline]] void finish_lanes_more(const float* tile, Out* c, int64_t m, int64_t n,
                                         const tw_cpu_gemm_args& args, int64_t column) {
  const auto* bias = static_cast<const Out*>(args.bias);
  alignas(64) float line[roundup(kNr, I::kWidth)] = {};
  for (int64_t i = 0; i < m; ++i, tile += kNr, c += args.ldc) {
    for (int64_t j = 0; j < n; ++j) {
      const float x = args.alpha * tile[j];
      const float y = args.beta == 0.0f ? x : x + args.beta * widen(c[j]);
      line[j] = bias == nullptr ? y : y + widen(bias[column + j]);
    }
    for (int64_t j = 0; j < n; j += I::kWidth)
      I::store(line + j, activated<I>(I::load(line + j), args.activation));
    for (int64_t j = 0; j < n; ++j) narrow(c + j, line[j]);
  }
}
template <class I, int kNr, class Out>
[[gnu::noinline]] void finish_lanes(const float* tile, Out* c, int64_t m, int64_t n,
                                    const tw_cpu_gemm_args& args, int64_t column) {
  if (has_epilogue(args)) return finish_lanes_more<I, kNr>(tile, c, m, n, args, column);
  for (int64_t i = 0; i < m; ++i, tile += kNr, c += args.ldc)
    for (int64_t j = 0; j < n; ++j)
      narrow(c + j, args.beta == 0.0f ? args.alpha * tile[j]
                                      : args.alpha * tile[j] + args.beta * widen(c[j]));
}

template <class I, class G, DotPlan kPlan>
struct Dot {
  using T = typename G::Input;
  using Out = typename G::Output;
  static constexpr int kMr = kPlan.mr, kNr = kPlan.nr;
  static constexpr bool kPairs = I::kPairs;
  static constexpr bool kPackA = kPlan.packa == PackA::kF32;
  static_assert(G::kTransB, "rows of B must run along k; for k x n storage take direct or blocked");
  static_assert(!G::kTransA || kPackA, "transposed A is usable only after packing");
  static_assert(!kPairs || (kSame<T, Bf16> && !kPackA), "vdpbf16ps reads both operands as bf16");

  const tw_cpu_gemm_args& args;
  float* a_packed;

  void tile(const T* a, const T* b, const Share& s, int64_t row, int64_t column, float* to) const {
    const int64_t k = s.k.size();
    const Rows<T, kNr> right(b + column * args.ldb + s.k.begin, args.ldb, s.n.end - column);
    if constexpr (kPackA) {
      const int64_t ld = roundup(k, kChunk);
      const Rows<float, kMr> left(a_packed + (row - s.m.begin) * ld, ld, s.m.end - row);
      dot_tile<I, T, kPlan.unroll, kPlan.prefetch, kPairs>(left, right, k, to);
    } else {
      const Rows<T, kMr> left(a + row * args.lda + s.k.begin, args.lda, s.m.end - row);
      dot_tile<I, T, kPlan.unroll, kPlan.prefetch, kPairs>(left, right, k, to);
    }
  }

  void product(const T* a, const T* b, Out* c, const Share& s, float* part_tiles) const {
    constexpr bool kWait = kPlan.split == Split::kK, kRowsInside = kPlan.order == Order::kNM;
    if (s.k.size() == 0) return;
    if constexpr (kPackA)
      pack_a_rows<I, G::kTransA>(
          a + (G::kTransA ? s.k.begin * args.lda + s.m.begin : s.m.begin * args.lda + s.k.begin),
          args.lda, s.m.size(), s.k.size(), a_packed);
    const int64_t m_tiles = cdiv(s.m.size(), kMr), n_tiles = cdiv(s.n.size(), kNr);
    const int64_t outer = kRowsInside ? n_tiles : m_tiles, inner = kRowsInside ? m_tiles : n_tiles;
    alignas(64) float local[kMr * kNr];
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t i = 0; i < inner; ++i) {
        const int64_t mt = kRowsInside ? i : o, nt = kRowsInside ? o : i;
        const int64_t row = s.m.begin + mt * kMr, column = s.n.begin + nt * kNr;
        float* to = kWait ? part_tiles + (nt * m_tiles + mt) * (kMr * kNr) : local;
        tile(a, b, s, row, column, to);
        if (!kWait)
          finish_lanes<I, kNr>(to, c + row * args.ldc + column, min(kMr, s.m.end - row),
                               min(kNr, s.n.end - column), args, column);
      }
    }
  }
};

// The end of Split::kK for narrow tiles; see finish_split in tile.h.
template <class I, int kMr, int kNr, class Out>
[[gnu::noinline]] void finish_split_lanes(const char* parts, int64_t stride, Out* c,
                                          const tw_cpu_gemm_args& args, const Dims& d, bool again,
                                          const tw_cpu_team& team) {
  team.barrier(team.state);
  const int64_t m_tiles = cdiv(d.m, kMr);
  const Range mine = part_of(m_tiles * cdiv(d.n, kNr), 1, team.threads, team.thread);
  for (int64_t t = mine.begin; t < mine.end; ++t) {
    float total[kMr * kNr] = {};
    for (int64_t p = 0; p < team.threads; ++p) {
      if (part_of(d.k, kChunk, team.threads, p).size() == 0) continue;
      const float* from = reinterpret_cast<const float*>(parts + p * stride) + t * kMr * kNr;
      for (int x = 0; x < kMr * kNr; ++x) total[x] += from[x];
    }
    const int64_t row = t % m_tiles * kMr, column = t / m_tiles * kNr;
    finish_lanes<I, kNr>(total, c + row * args.ldc + column, min(kMr, d.m - row),
                         min(kNr, d.n - column), args, column);
  }
  if (again) team.barrier(team.state);
}

template <class I, class G, DotPlan kPlan>
void dot(const tw_cpu_gemm_args& args, const tw_cpu_team& team) {
  const Dims d = dims_of<G>(args);
  if (multiplies_nothing(args, d)) return scale_only<I, typename G::Output>(args, d, team);
  const Share s = share_of(kPlan.split, d, args.batch, kPlan.mr, kPlan.nr, kChunk, team);
  const DotSpace space = dot_space(kPlan, d, team.threads);
  char* shared = static_cast<char*>(args.workspace);  // parts of all threads, then private blocks
  float* mine =
      reinterpret_cast<float*>(shared + team.threads * space.parts + team.thread * space.a);
  const Dot<I, G, kPlan> form = {args, mine};
  float* parts = reinterpret_cast<float*>(shared + team.thread * space.parts);
  for (int64_t e = s.batch.begin; e < s.batch.end; ++e) {
    auto* c = static_cast<typename G::Output*>(args.c) + e * args.stride_c;
    form.product(static_cast<const typename G::Input*>(args.a) + e * args.stride_a,
                 static_cast<const typename G::Input*>(args.b) + e * args.stride_b, c, s, parts);
    if constexpr (kPlan.split == Split::kK)
      finish_split_lanes<I, kPlan.mr, kPlan.nr>(shared, space.parts, c, args, d,
                                                e + 1 < s.batch.end, team);
  }
}

}  // namespace
}  // namespace tw::cpu

#endif  // TILEWRIGHT_GENERATE_CPU_DEVICE_DOT_H
