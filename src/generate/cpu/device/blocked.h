// SPDX-License-Identifier: Apache-2.0
// form=blocked: the loops of Goto and van de Geijn ("Anatomy of High-Performance Matrix
// Multiplication", 2008). For each block of columns (nc), each block of k (kc): pack B; for each
// block of rows (mc): pack A; then register tiles over the two packed blocks.
//
// For large M, where each element of A and B is used often enough to repay a copy. With k in
// several blocks the sums stay in f32 tiles in the workspace; halves are written once, at the end.
#ifndef TILEWRIGHT_GENERATE_CPU_DEVICE_BLOCKED_H
#define TILEWRIGHT_GENERATE_CPU_DEVICE_BLOCKED_H

#include "generate/cpu/device/pack.h"

namespace tw::cpu {
namespace {  // NOLINT(google-build-namespaces): see types.h

struct BlockedPlan {
  int mr = 4, nr = 16;               // the register tile
  int64_t kc = 256, mc = 0, nc = 0;  // blocks; 0 = the whole dimension
  PackB packb = PackB::kF32;
  int unroll = 2;    // steps of k per loop turn
  int prefetch = 0;  // steps of k ahead in the packed panel of B; 0 = none
  Order order = Order::kNM;
  Split split = Split::kN;
};

// The workspace of one thread, in bytes, region by region; total = threads * (a + b + parts).
struct BlockedSpace {
  int64_t a, b, parts;
  constexpr int64_t total() const { return a + b + parts; }
};
constexpr BlockedSpace blocked_space(const BlockedPlan& p, const Dims& d, int64_t threads) {
  const int64_t rows = roundup(d.m, p.mr), columns = roundup(d.n, p.nr);
  const int64_t kc = p.kc == 0 ? d.k : min(p.kc, d.k);
  const int64_t mc = p.mc == 0 ? rows : min(p.mc, rows);
  const int64_t nc = p.nc == 0 ? columns : min(p.nc, columns);
  const int64_t share = p.split == Split::kM ? cdiv(cdiv(d.m, p.mr), threads) * p.mr : rows;
  const int64_t parts = p.split == Split::kK       ? rows * columns
                        : p.kc == 0 || d.k <= p.kc ? 0
                                                   : share * nc;
  return {mc * roundup(kc, kChunk) * 4, roundup(nc * roundup(kc, 2) * b_bytes(p.packb), 64),
          roundup(parts * 4, 64)};
}

template <class I, class G, BlockedPlan kPlan>
struct Blocked {
  using T = typename G::Input;
  using Out = typename G::Output;
  static constexpr int kMr = kPlan.mr, kNr = kPlan.nr;
  static constexpr bool kPairs = kPlan.packb == PackB::kPair;
  // What a packed row of B is made of, as the tile reads it.
  template <PackB kPack>
  static auto b_element() {
    if constexpr (kPack == PackB::kHalf) {
      return T{};
    } else {
      return 0.0f;
    }
  }
  using B = decltype(b_element<kPlan.packb>());
  static_assert(kPlan.packb != PackB::kNone, "unpacked B is form=direct");
  static_assert(kPlan.nr % I::kWidth == 0, "a tile is a whole number of registers wide");
  static_assert(kPlan.kc % 2 == 0 && kPlan.mc % kPlan.mr == 0 && kPlan.nc % kPlan.nr == 0);
  static_assert(!kPairs || (I::kPairs && kSame<T, Bf16>), "pairs need vdpbf16ps and bf16");

  const tw_cpu_gemm_args& args;
  float* a_block;
  char* b_block;

  // Register tiles over one packed block of A (rows, at row m0) and one of B (columns, at n0).
  void tiles(Out* c, Range m, Range n, int64_t k, const Parts& parts, int64_t first_row, bool first,
             bool last) const {
    const int64_t words = kPairs ? cdiv(k, 2) : k;
    const int64_t panel = b_panel<kNr, kPlan.packb>(k);
    const int64_t m_tiles = cdiv(m.size(), kMr), n_tiles = cdiv(n.size(), kNr);
    constexpr bool kRowsInside = kPlan.order == Order::kNM;
    const int64_t outer = kRowsInside ? n_tiles : m_tiles, inner = kRowsInside ? m_tiles : n_tiles;
    alignas(64) float local[kMr * kNr];
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t i = 0; i < inner; ++i) {
        const int64_t mt = kRowsInside ? i : o, nt = kRowsInside ? o : i;
        const int64_t row = m.begin + mt * kMr, column = n.begin + nt * kNr;
        float* tile = local;
        if (parts.tiles != nullptr)
          tile = parts.tiles +
                 ((column - parts.n_first) / kNr * parts.m_tiles + (row - first_row) / kMr) *
                     (kMr * kNr);
        const PackedA<I, kMr, G::kTransA> a = {a_block + mt * a_panel<kMr>(words)};
        outer_tile<I, kMr, kNr, kPlan.unroll, kPlan.prefetch, false, kPairs>(
            a, reinterpret_cast<const B*>(b_block + nt * panel), kNr, words, kNr, tile, !first);
        if (last)
          finish<I, B, kNr>(tile, c + row * args.ldc + column, min(kMr, m.end - row),
                            min(kNr, n.end - column), args, column);
      }
    }
  }

  void product(const T* a, const T* b, Out* c, const Share& s, float* part_tiles,
               int64_t part_rows) const {
    const int64_t kc = kPlan.kc == 0 ? s.k.size() : kPlan.kc;
    const int64_t mc = kPlan.mc == 0 ? roundup(s.m.size(), kMr) : kPlan.mc;
    const int64_t nc = kPlan.nc == 0 ? roundup(s.n.size(), kNr) : kPlan.nc;
    constexpr bool kWait = kPlan.split == Split::kK;
    for (int64_t n0 = s.n.begin; n0 < s.n.end; n0 += nc) {
      const Range n = {n0, min(n0 + nc, s.n.end)};
      const Parts parts = {kWait || s.k.size() > kc ? part_tiles : nullptr, cdiv(part_rows, kMr),
                           kWait ? 0 : n0};
      for (int64_t k0 = s.k.begin; k0 < s.k.end; k0 += kc) {
        const int64_t k = min(kc, s.k.end - k0);
        pack_b<I, kNr, G::kTransB, kPlan.packb>(
            b + (G::kTransB ? n0 * args.ldb + k0 : k0 * args.ldb + n0), args.ldb, k, n.size(),
            b_block);
        for (int64_t m0 = s.m.begin; m0 < s.m.end; m0 += mc) {
          const Range m = {m0, min(m0 + mc, s.m.end)};
          const T* from = a + (G::kTransA ? k0 * args.lda + m0 : m0 * args.lda + k0);
          if constexpr (kPairs) {
            pack_a_pairs<I, kMr, G::kTransA>(from, args.lda, m.size(), k, a_block);
          } else {
            pack_a<I, kMr, G::kTransA>(from, args.lda, m.size(), k, a_block);
          }
          tiles(c, m, n, k, parts, s.m.begin, k0 == s.k.begin, !kWait && k0 + k == s.k.end);
        }
      }
    }
  }
};

template <class I, class G, BlockedPlan kPlan>
void blocked(const tw_cpu_gemm_args& args, const tw_cpu_team& team) {
  using Form = Blocked<I, G, kPlan>;
  const Dims d = dims_of<G>(args);
  if (multiplies_nothing(args, d)) return scale_only<I, typename G::Output>(args, d, team);
  const Share s = share_of(kPlan.split, d, args.batch, kPlan.mr, kPlan.nr, kChunk, team);
  const BlockedSpace space = blocked_space(kPlan, d, team.threads);
  char* shared = static_cast<char*>(args.workspace);  // parts of all threads, then private blocks
  char* mine = shared + team.threads * space.parts + team.thread * (space.a + space.b);
  const Form form = {args, reinterpret_cast<float*>(mine), mine + space.a};
  float* parts = reinterpret_cast<float*>(shared + team.thread * space.parts);
  for (int64_t e = s.batch.begin; e < s.batch.end; ++e) {
    auto* c = static_cast<typename G::Output*>(args.c) + e * args.stride_c;
    form.product(static_cast<const typename G::Input*>(args.a) + e * args.stride_a,
                 static_cast<const typename G::Input*>(args.b) + e * args.stride_b, c, s, parts,
                 kPlan.split == Split::kK ? d.m : s.m.size());
    if constexpr (kPlan.split == Split::kK)
      finish_split<I, typename Form::B, kPlan.mr, kPlan.nr>(shared, space.parts, c, args, d,
                                                            e + 1 < s.batch.end, team);
  }
}

}  // namespace
}  // namespace tw::cpu

#endif  // TILEWRIGHT_GENERATE_CPU_DEVICE_BLOCKED_H
