// SPDX-License-Identifier: Apache-2.0
// Tiles that are left over beside whole waves are cut along K, so that all CTAs share them: a form
// of stream K (Osama et al., arXiv 2301.03598). There each CTA's share begins anywhere in K; here
// all begin a slice together, since what the multiprocessors of a GPC read at about the same time
// is fetched once (raster.cuh), and reads that are apart in K cost more than the last wave's idling
// (docs/lab-notebook.md). Whoever is done with a tile last adds all slices in their order, so the
// result does not depend on who that is, and nobody waits for a CTA that may not run.
#pragma once

#include "generate/cuda/device/split_k.cuh"

namespace tw {

// Tiles of K, of one tile of C.
struct Span {
  int first, count;
};

// Into how many slices of `depth` tiles of K each of `left` tiles is cut for `ctas` CTAs: as many as
// give each one slice, or nearly two where that leaves less to do. 1: not worth it. Not quite two, so
// that slices of 128 x 256 fit in the 32 MiB that the runtime library has by default.
__device__ __forceinline__ int cuts_of(int left, int ctas, int depth) {
  constexpr int kMost = 4, kLeastDepth = 4;
  const int most = min(kMost, depth / kLeastDepth);
  const int one = min(ctas / left, most), two = min(15 * ctas / (8 * left), most);
  return max(two > 2 * one ? two : one, 1);
}

// Adds up the slices of a tile by one warpgroup: whether this one is the last, whose `acc` then is
// the sum. `parts`: of this thread, `stride` from slice to slice, 16 bytes for each piece, `threads`
// apart. `leads`: one thread of the warpgroup; `flag`: its word of shared memory. barrier() joins
// the warpgroup.
template <int kPieces, class Barrier>
__device__ __forceinline__ bool add_slices(float (&acc)[kPieces][4], float4* parts, i64 stride,
                                           int threads, int slice, int slices, u32* counter,
                                           volatile u32* flag, bool leads, const Barrier& barrier) {
#pragma unroll
  for (int p = 0; p < kPieces; ++p) {
    __stcg(parts + slice * stride + p * threads,
           make_float4(acc[p][0], acc[p][1], acc[p][2], acc[p][3]));
  }
  __threadfence();
  barrier();
  if (leads) {
    const u32 before = add_to_counter(counter, 1);
    *flag = before;
    if (before + 1 == static_cast<u32>(slices)) *counter = 0;
  }
  barrier();
  if (*flag + 1 != static_cast<u32>(slices)) return false;
  __threadfence();
#pragma unroll
  for (int p = 0; p < kPieces; ++p) {
    const float4 first = __ldcg(parts + p * threads);
    acc[p][0] = first.x, acc[p][1] = first.y, acc[p][2] = first.z, acc[p][3] = first.w;
  }
  for (int s = 1; s < slices; ++s) {
#pragma unroll
    for (int p = 0; p < kPieces; ++p) add(acc[p], __ldcg(parts + s * stride + p * threads));
  }
  return true;
}

}  // namespace tw
