// SPDX-License-Identifier: Apache-2.0
// One kernel, several CTAs to a tile: each sums a slice of K, then the slices are added in f32 in a
// fixed order, so results do not depend on which CTA is late.
//
// Partial sums travel as they lie in registers, piece by piece (epilogue.cuh), so nothing here
// knows a layout. kWide pieces that are stored together are a unit.
// - in a cluster: partial sums stay in shared memory, each CTA adds and stores every kSplit-th
// unit,
//   reading its peers' memory (distributed shared memory; PTX ISA 9.7.9.8, shared::cluster).
// - through the workspace: in L2; the CTA that arrives last adds. The counters lie in the zeroed
//   head of the workspace, and the last arriver sets its own back to zero. The launch says how
//   large the head is: calls of other sizes share the workspace, so it does not follow from the
//   tiles.
#pragma once

#include "generate/cuda/device/ptx.cuh"

namespace tw {

__device__ __forceinline__ void add(float (&sum)[4], const float4& v) {
  sum[0] += v.x;
  sum[1] += v.y;
  sum[2] += v.z;
  sum[3] += v.w;
}

struct Workspace {
  void* base;
  int head;  // bytes that are zero between calls, a multiple of 256
  __device__ __forceinline__ u32* counter(i64 tile) const { return static_cast<u32*>(base) + tile; }
  // Partial sums of a tile, `pieces` times `threads` for each slice.
  __device__ __forceinline__ float4* partial(i64 tile, int pieces, int threads, int slices) const {
    return reinterpret_cast<float4*>(static_cast<unsigned char*>(base) + head) +
           tile * pieces * threads * slices;
  }
};

// All threads of all CTAs of the cluster take part; `holds` are those with accumulators, of which
// this is number `thread` of `threads`. `buffer`: 16 bytes per piece and holding thread, free to
// use in every CTA. store(unit, sums).
template <int kPieces, int kWide, int kSplit, class Store>
__device__ __forceinline__ void reduce_in_cluster(const float (&acc)[kPieces][4], float4* buffer,
                                                  int thread, int threads, bool holds,
                                                  const Store& store) {
  if (holds) {
#pragma unroll
    for (int p = 0; p < kPieces; ++p) {
      buffer[p * threads + thread] = make_float4(acc[p][0], acc[p][1], acc[p][2], acc[p][3]);
    }
  }
  cluster_sync();
  if (holds) {
    const int rank = static_cast<int>(cluster_rank());
    const u32 mine = shared_address(buffer + thread);
#pragma unroll
    for (int unit = 0; unit < kPieces / kWide; ++unit) {
      if (unit % kSplit != rank) continue;
      float sums[kWide][4] = {};
#pragma unroll
      for (int peer = 0; peer < kSplit; ++peer) {
#pragma unroll
        for (int w = 0; w < kWide; ++w) {
          const u32 at = mine + static_cast<u32>((unit * kWide + w) * threads * 16);
          add(sums[w], read_peer(peer_address(at, static_cast<u32>(peer))));
        }
      }
      store(unit, sums);
    }
  }
  cluster_sync();  // nobody leaves while a peer may still read its memory
}

// `partial`: this tile's part of the workspace, 16 bytes per piece, thread and slice; `counter`:
// this tile's. `flag`: one word of shared memory. barrier() joins the holding threads, which alone
// call this.
template <int kPieces, int kWide, int kSplit, class Barrier, class Store>
__device__ __forceinline__ void reduce_through_workspace(const float (&acc)[kPieces][4],
                                                         float4* partial, u32* counter, u32* flag,
                                                         int slice, int thread, int threads,
                                                         const Barrier& barrier,
                                                         const Store& store) {
  const i64 per_slice = static_cast<i64>(kPieces) * threads;
#pragma unroll
  for (int p = 0; p < kPieces; ++p) {
    __stcg(partial + slice * per_slice + p * threads + thread,
           make_float4(acc[p][0], acc[p][1], acc[p][2], acc[p][3]));
  }
  __threadfence();
  barrier();
  if (thread == 0) {
    const u32 before = count_arrival(counter);
    *flag = before;
    if (before == kSplit - 1) *counter = 0;
  }
  barrier();
  if (*flag != kSplit - 1) return;
  __threadfence();
#pragma unroll
  for (int unit = 0; unit < kPieces / kWide; ++unit) {
    float sums[kWide][4] = {};
#pragma unroll 4
    for (int s = 0; s < kSplit; ++s) {
#pragma unroll
      for (int w = 0; w < kWide; ++w) {
        add(sums[w], __ldcg(partial + s * per_slice + (unit * kWide + w) * threads + thread));
      }
    }
    store(unit, sums);
  }
}

}  // namespace tw
