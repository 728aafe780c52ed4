// SPDX-License-Identifier: Apache-2.0
// Consumers of the family sm90 that store a tile while they multiply the next, a chunk to a stage,
// where CTAs stay for several tiles.
//
// deferred: the sums are rounded first, so that a tile of 256 columns waits in half the registers;
// nothing multiplies meanwhile. overlapped: two sets of accumulators take turns, so that the first
// products of a tile queue behind the last of the one before, and the tensor cores never wait. Two
// sets of up to 176 columns fit the 240 registers of one of two warpgroups. Written so that ptxas
// sees which set is at rest: else it waits for all products at every stage (C7514).
#pragma once

#include "generate/cuda/device/sm90_config.cuh"
#include "generate/cuda/device/sm90_plan.cuh"
#include "generate/cuda/device/wgmma.cuh"

namespace tw {

template <class Gemm>
struct Sm90Overlap {
  using Arguments = typename Gemm::Arguments;
  using Shared = typename Gemm::Shared;
  using Plan = typename Gemm::Plan;
  using Work = typename Gemm::Work;
  using Place = typename Gemm::Place;
  using Sums = typename Gemm::Sums;
  using Stores = typename Gemm::Stores;

  // A tile that is multiplied and not yet stored.
  struct Held {
    typename Stores::Packed packed;
    Work at;
    bool any;
  };
  template <class Wanted>
  __device__ __forceinline__ static void store_held(const Arguments& arg, const Shared& shared,
                                                    int group, const Held& held,
                                                    const Wanted& wanted) {
    if (!held.any) return;
    Stores::some(Gemm::output(arg, held.at), arg.map_c, Gemm::place(shared, held.at, group),
                 held.packed, wanted);
  }
  // All tiles of a warpgroup. Where a tile goes is worked out behind it: two places alive at once
  // were confused by ptxas 13.0 (with sizes=static; half the tiles went where the next ones went).
  __device__ __forceinline__ static void deferred(const Arguments& arg, const Shared& shared,
                                                  const Plan& p, int group) {
    Held held;
    held.any = false;
    Place at{0, 0};
    for (int index = p.first; index < p.total; index += p.step) {
      Sums sums;
      const Span of_k = Gemm::Tiles::span(p, index);
      Gemm::accumulate(sums, arg, shared, p, Work{0, 0, 0, of_k}, group, at, [&](int k, Place) {
        store_held(arg, shared, group, held, [k](int chunk) { return chunk == k; });
      });
      if (index + p.step >= p.total) Gemm::tell_peers();
      store_held(arg, shared, group, held, [&](int chunk) { return chunk >= of_k.count; });
      held.any = false;
      if (Gemm::config().stream && !Gemm::complete(arg, shared, p, index, group, sums)) continue;
      Stores::round(sums, held.packed);
      held.at = Gemm::work(p, index);
      held.any = true;
    }
    store_held(arg, shared, group, held, [](int) { return true; });
  }

  // Those chunks of tile `index`, whose products are done, for which `wanted(count)`.
  template <class Wanted>
  __device__ __forceinline__ static void store(const Arguments& arg, const Shared& shared,
                                               const Plan& p, int group, int index,
                                               const Sums& sums, const Wanted& wanted) {
    const Work w = Gemm::work(p, index);
    Stores::some(Gemm::output(arg, w), arg.map_c, Gemm::place(shared, w, group), sums, wanted);
  }
  // One stage of tile `index`, into `sums`. `at`: in the ring; `last`: the stage before, which is
  // still read.
  template <bool kAccumulate>
  __device__ __forceinline__ static void step(Sums& sums, const Shared& shared, const Plan& p,
                                              int group, Place& at, Place& last, bool releases) {
    Gemm::issue(sums, shared, group * Gemm::kBlocks, at, kAccumulate);
    wgmma_wait<1>();
    if (releases) Gemm::release(shared, p, last.stage);
    last = at;
    at.next();
  }
  // Tile `index` into `sums`, while the tile before it is stored from `earlier`. Its last products
  // are under way at the end.
  __device__ __forceinline__ static void multiply(Sums& sums, Sums& earlier, const Arguments& arg,
                                                  const Shared& shared, const Plan& p, int group,
                                                  int index, Place& at, Place& last) {
    step<false>(sums, shared, p, group, at, last, true);
    Gemm::keep_all(earlier);
    store(arg, shared, p, group, index - p.step, earlier, [](int chunk) { return chunk == 0; });
    for (int k = 1; k < p.count_k; ++k) {
      step<true>(sums, shared, p, group, at, last, true);
      store(arg, shared, p, group, index - p.step, earlier, [k](int chunk) { return chunk == k; });
    }
    store(arg, shared, p, group, index - p.step, earlier,
          [&p](int chunk) { return chunk >= p.count_k; });
  }
  // The last tile, `index`.
  __device__ __forceinline__ static void finish(const Arguments& arg, const Shared& shared,
                                                const Plan& p, int group, int index, Sums& sums,
                                                Place& last) {
    wgmma_wait<0>();
    Gemm::keep_all(sums);
    Gemm::release(shared, p, last.stage);
    Gemm::tell_peers();
    store(arg, shared, p, group, index, sums, [](int) { return true; });
  }
  // As deferred().
  __device__ __forceinline__ static void overlapped(const Arguments& arg, const Shared& shared,
                                                    const Plan& p, int group) {
    int index = p.first;
    if (index >= p.total) return;
    Sums even, odd;
    Place at{0, 0}, last{0, 0};
    step<false>(even, shared, p, group, at, last, false);
    for (int k = 1; k < p.count_k; ++k) step<true>(even, shared, p, group, at, last, true);
    while (true) {
      if (index + p.step >= p.total) return finish(arg, shared, p, group, index, even, last);
      index += p.step;
      multiply(odd, even, arg, shared, p, group, index, at, last);
      if (index + p.step >= p.total) return finish(arg, shared, p, group, index, odd, last);
      index += p.step;
      multiply(even, odd, arg, shared, p, group, index, at, last);
    }
  }
};

}  // namespace tw
