// SPDX-License-Identifier: Apache-2.0
// form=direct: B (row-major, k x n) is read where it lies, widened in registers and used at once.
//
// For small M, where B passes through the core once and any copy of it would cost more than the
// arithmetic. kc < K walks short slices of k over many columns, so that memory is read in long
// rows (the hardware prefetcher likes them); the sums then live in f32 tiles, normally in the
// first- or second-level cache. kc = 0 keeps the sums in registers for all of k.
#ifndef TILEWRIGHT_GENERATE_CPU_DEVICE_DIRECT_H
#define TILEWRIGHT_GENERATE_CPU_DEVICE_DIRECT_H

#include "generate/cpu/device/pack.h"

namespace tw::cpu {
namespace {  // NOLINT(google-build-namespaces): see types.h

struct DirectPlan {
  int mr = 1, nr = 64;        // the register tile
  int64_t kc = 0, nc = 0;     // slices of k within blocks of columns; 0 = the whole dimension
  PackA packa = PackA::kF32;  // kF32: each thread first widens its rows of A; kNone: at each use
  int unroll = 4;             // steps of k per loop turn
  int prefetch = 0;           // rows of B ahead (kc = 0), or tiles ahead in a row; 0 = none
  Order order = Order::kNM;
  Split split = Split::kN;
};

// The workspace of one thread, in bytes; total = threads * (a + parts).
struct DirectSpace {
  int64_t a, parts;
  constexpr int64_t total() const { return a + parts; }
};
constexpr DirectSpace direct_space(const DirectPlan& p, const Dims& d, int64_t threads) {
  const int64_t columns = roundup(d.n, p.nr);
  const int64_t share =
      p.split == Split::kM ? cdiv(cdiv(d.m, p.mr), threads) * p.mr : roundup(d.m, p.mr);
  const int64_t nc = p.nc == 0 ? columns : min(p.nc, columns);
  const int64_t parts = p.split == Split::kK       ? share * columns
                        : p.kc == 0 || d.k <= p.kc ? 0
                                                   : share * nc;
  return {p.packa == PackA::kF32 ? share * roundup(d.k, kChunk) * 4 : 0, roundup(parts * 4, 64)};
}

template <class I, class G, DirectPlan kPlan>
struct Direct {
  using T = typename G::Input;
  using Out = typename G::Output;
  static constexpr int kMr = kPlan.mr, kNr = kPlan.nr;
  static_assert(!G::kTransB, "rows of B must run along n; for n x k storage take dot or blocked");
  static_assert(kPlan.nr % I::kWidth == 0, "a tile is a whole number of registers wide");
  static_assert(kPlan.nc % kPlan.nr == 0);
  static_assert(kPlan.kc % kChunk == 0 || kChunk % kPlan.kc == 0, "a slice may not cross chunks");

  // Through all of k the next data are the next rows; in a short slice, the same rows further on.
  static constexpr int kPrefetch = kPlan.kc == 0 ? kPlan.prefetch : -kPlan.prefetch;

  const tw_cpu_gemm_args& args;
  float* a_packed;  // panels of the rows of the share, over its k

  template <bool kEdge>
  void tile(const T* a, const T* b, const Share& s, int64_t row, int64_t column, int64_t k0,
            int64_t k, float* to, bool accumulate) const {
    const int64_t n = s.n.end - column;
    const T* right = b + k0 * args.ldb + column;
    if constexpr (kPlan.packa == PackA::kF32) {
      const int64_t at = k0 - s.k.begin, within = at % kChunk;
      const PackedA<I, kMr, G::kTransA> left = {
          a_packed + (row - s.m.begin) / kMr * a_panel<kMr>(s.k.size()) + (at - within) * kMr +
          within * (G::kTransA ? kMr : 1)};
      outer_tile<I, kMr, kNr, kPlan.unroll, kPrefetch, kEdge, false>(left, right, args.ldb, k, n,
                                                                     to, accumulate);
    } else {
      const PlainA<I, T, kMr, G::kTransA> left(
          a + (G::kTransA ? k0 * args.lda + row : row * args.lda + k0), args.lda, s.m.end - row);
      outer_tile<I, kMr, kNr, kPlan.unroll, kPrefetch, kEdge, false>(left, right, args.ldb, k, n,
                                                                     to, accumulate);
    }
  }

  void product(const T* a, const T* b, Out* c, const Share& s, float* part_tiles) const {
    constexpr bool kWait = kPlan.split == Split::kK;
    const int64_t kc = kPlan.kc == 0 ? s.k.size() : kPlan.kc;
    const int64_t nc = kPlan.nc == 0 ? roundup(s.n.size(), kNr) : kPlan.nc;
    const int64_t m_tiles = cdiv(s.m.size(), kMr);
    const bool keep = kWait || s.k.size() > kc;
    if constexpr (kPlan.packa == PackA::kF32)
      pack_a<I, kMr, G::kTransA>(
          a + (G::kTransA ? s.k.begin * args.lda + s.m.begin : s.m.begin * args.lda + s.k.begin),
          args.lda, s.m.size(), s.k.size(), a_packed);
    alignas(64) float local[kMr * kNr];
    for (int64_t n0 = s.n.begin; n0 < s.n.end; n0 += nc) {
      const int64_t n_tiles = cdiv(min(nc, s.n.end - n0), kNr);
      for (int64_t k0 = s.k.begin; k0 < s.k.end; k0 += kc) {
        const int64_t k = min(kc, s.k.end - k0);
        const bool first = k0 == s.k.begin, last = !kWait && k0 + k == s.k.end;
        constexpr bool kRowsInside = kPlan.order == Order::kNM;
        const int64_t outer = kRowsInside ? n_tiles : m_tiles;
        const int64_t inner = kRowsInside ? m_tiles : n_tiles;
        for (int64_t o = 0; o < outer; ++o) {
          for (int64_t i = 0; i < inner; ++i) {
            const int64_t mt = kRowsInside ? i : o, nt = kRowsInside ? o : i;
            const int64_t row = s.m.begin + mt * kMr, column = n0 + nt * kNr;
            const int64_t nt_kept = kWait ? column / kNr : nt;
            float* to = keep ? part_tiles + (nt_kept * m_tiles + mt) * (kMr * kNr) : local;
            // Without an edge in n (known sizes), the masked copy of the tile is not compiled.
            constexpr bool kWhole = G::kFixed.n != kRuntime && G::kFixed.n % kNr == 0;
            if (kWhole || column + kNr <= s.n.end) {
              tile<false>(a, b, s, row, column, k0, k, to, !first);
            } else if constexpr (!kWhole) {
              tile<true>(a, b, s, row, column, k0, k, to, !first);
            }
            if (last)
              finish<I, T, kNr>(to, c + row * args.ldc + column, min(kMr, s.m.end - row),
                                min(kNr, s.n.end - column), args, column);
          }
        }
      }
    }
  }
};

template <class I, class G, DirectPlan kPlan>
void direct(const tw_cpu_gemm_args& args, const tw_cpu_team& team) {
  const Dims d = dims_of<G>(args);
  if (multiplies_nothing(args, d)) return scale_only<I, typename G::Output>(args, d, team);
  const Share s = share_of(kPlan.split, d, args.batch, kPlan.mr, kPlan.nr, kChunk, team);
  const DirectSpace space = direct_space(kPlan, d, team.threads);
  char* shared = static_cast<char*>(args.workspace);  // parts of all threads, then private blocks
  float* mine =
      reinterpret_cast<float*>(shared + team.threads * space.parts + team.thread * space.a);
  const Direct<I, G, kPlan> form = {args, mine};
  float* parts = reinterpret_cast<float*>(shared + team.thread * space.parts);
  for (int64_t e = s.batch.begin; e < s.batch.end; ++e) {
    auto* c = static_cast<typename G::Output*>(args.c) + e * args.stride_c;
    form.product(static_cast<const typename G::Input*>(args.a) + e * args.stride_a,
                 static_cast<const typename G::Input*>(args.b) + e * args.stride_b, c, s, parts);
    if constexpr (kPlan.split == Split::kK)
      finish_split<I, typename G::Input, kPlan.mr, kPlan.nr>(shared, space.parts, c, args, d,
                                                             e + 1 < s.batch.end, team);
  }
}

}  // namespace
}  // namespace tw::cpu

#endif  // TILEWRIGHT_GENERATE_CPU_DEVICE_DIRECT_H
