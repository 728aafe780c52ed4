// SPDX-License-Identifier: Apache-2.0
// The producer of schedule=gather: a warpgroup whose threads copy what no tensor map describes
// (sm90_gather.cuh), and of which one has the copy engine bring what a map does.
#pragma once

#include "generate/cuda/device/barrier.cuh"
#include "generate/cuda/device/sm90_config.cuh"

namespace tw {

// Fills the ring for all tiles of this CTA, by all threads of the warpgroup. Gemm: an Sm90Gemm.
template <class Gemm>
__device__ __forceinline__ void gather_stages(const typename Gemm::Arguments& arg,
                                              const typename Gemm::Shared& shared,
                                              const typename Gemm::Plan& p, int depth) {
  using A = typename Gemm::A;
  using B = typename Gemm::B;
  constexpr Sm90Config C = Gemm::config();
  const int thread = static_cast<int>(threadIdx.x) - Gemm::kHolders;
  const Sizes& s = arg.sizes;
  const auto fill = [&](int stage) {
    fence_async_proxy();
    arrive(shared.full + 8 * stage);
  };
  typename Gemm::Place at{0, 0}, late{0, 0};
  int i = 0;
  for (int index = p.first; index < p.total; index += p.step) {
    const typename Gemm::Work w = Gemm::work(p, index);
    const u16* a = arg.source.a + w.entry * s.sa;
    const u16* b = arg.source.b + w.entry * s.sb;
    for (int tile = 0; tile < w.k.count; ++tile, ++i) {
      Gemm::wait_empty(shared, at);
      const u32 full = shared.full + 8 * at.stage;
      const u32 to = shared.ring + at.stage * Gemm::kStageBytes;
      const int k = (w.k.first + tile) * C.tile_k;
      if (Gemm::kBoxedBytes > 0 && thread == 0) {
        arrive_expecting(full, Gemm::kBoxedBytes);
        if constexpr (!C.gather_a) A::load(to, arg.map_a, w.row0, k, w.entry, full, 0, 1);
        if constexpr (!C.gather_b) {
          B::load(to + A::kBytes, arg.map_b, w.column0, k, w.entry, full, 0, 1);
        }
      }
      if constexpr (C.gather_a) {
        copy_tile<BoxedTile<A>, 128, C.vector_a, Gemm::kGatherBatch, true>(
            to, tile_source<C.a_along_k>(a, s.lda, w.row0, k, s.m, depth), thread);
      }
      if constexpr (C.gather_b) {
        copy_tile<BoxedTile<B>, 128, C.vector_b, Gemm::kGatherBatch, true>(
            to + A::kBytes, tile_source<C.b_along_k>(b, s.ldb, w.column0, k, s.n, depth), thread);
      }
      if constexpr (Gemm::kAsync) {
        commit_copies();
        wait_copies<Gemm::kLag>();
        if (i >= Gemm::kLag) {
          fill(late.stage);
          late.next();
        }
      } else {
        fill(at.stage);
      }
      at.next();
    }
  }
  if constexpr (Gemm::kLag > 0) {
    wait_copies<0>();
    for (int rest = max(i - Gemm::kLag, 0); rest < i; ++rest, late.next()) fill(late.stage);
  }
}

}  // namespace tw
