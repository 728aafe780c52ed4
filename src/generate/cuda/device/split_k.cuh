// SPDX-License-Identifier: Apache-2.0
// One kernel, several CTAs to a tile: each sums a slice of K, then the slices are added in f32 in a
// fixed order, so results do not depend on which CTA is late.
//
// Partial sums travel as they lie in registers, piece by piece (epilogue.cuh), so nothing here
// knows a layout. kWide pieces that are stored together are a unit.
// - in a cluster: partial sums stay in shared memory, each CTA adds and stores every kSplit-th
//   unit, reading its peers' memory (distributed shared memory; PTX ISA 9.7.9.8, shared::cluster).
// - through the workspace: in L2; the CTA that arrives last adds. The counters lie in the zeroed
//   head of the workspace, and the last arriver sets its own back to zero. The launch says how
//   large the head is: calls of other sizes share the workspace, so it does not follow from the
//   tiles.
// - spread: in L2, and everybody who is there when the last arrives adds a part. See reduce_spread.
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
  // Of a tile; reduce_spread has one for each warp with sums.
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
    const u32 before = add_to_counter(counter, 1);
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

// One warp's sums with those of the same warp in the other CTAs of its tile. Warps of a CTA never
// meet, so each is as early as it can be, and there is no barrier.
//
// The parts of a warp's sums (unit % kSplit) belong to the slices. A warp writes what is not its
// own to the workspace and counts itself. Then it looks at the counter, but only for so long:
// nobody waits for another CTA, which may not run before this one has left. If all have come
// meanwhile, it adds its own part, the rest of which it still holds; if not, it writes that too,
// and leaves. The last to come finds who has left and adds their parts beside its own. Whoever adds
// does it in the order of the slices, so the result is the same.
//
// What that costs, against the last one's adding everything: a CTA's loads from L2 shrink from
// kSplit tiles to one, for one or two more looks at a counter, about 0.7 us each on a H100. With
// the usual 64 KiB of sums, of which an SM loads 64 bytes per cycle, four slices break even and 16
// save ten microseconds. Parts with a counter each, counted in turn without looking, would spread
// as well if all came at once, but each count waits for the stores before it: kSplit times that 0.7
// us.
//
// The counter: below, how many have come; then, how many have looked for the last time, of which
// the last sets it back to zero; above, which slices have left.
enum : u32 { kCame = 1, kLooked = 1 << 8, kLeft = 1 << 16, kCountMask = 255 };
enum : int { kLooks = 8 };  // at the counter: about 5 us

// Adds the parts of the slices in `parts`. kLoads: as below.
template <int kPieces, int kWide, int kSplit, int kLoads, class Store>
__device__ __forceinline__ void add_parts(const float (&acc)[kPieces][4], const float4* partial,
                                          u32 parts, int slice, int thread, int threads,
                                          const Store& store) {
  enum : int {
    kUnits = kPieces / kWide,
    kOfPart = ceil_div(kUnits, kSplit),
    kSlices = min_of(kSplit, max_of(kLoads / kWide, 1)),                // loaded at once
    kTogether = min_of(max_of(kLoads / (kWide * kSplit), 1), kOfPart),  // units
  };
  const i64 per_slice = static_cast<i64>(kPieces) * threads;
#pragma unroll 1
  for (int part = 0; part < kSplit; ++part) {
    if ((parts >> part & 1) == 0) continue;
#pragma unroll
    for (int first = 0; first < kOfPart; first += kTogether) {
      float own[kTogether][kWide][4] = {};
#pragma unroll
      for (int i = 0; i < kTogether; ++i) {
#pragma unroll
        for (int p = 0; p < kSplit; ++p) {
          const int unit = (first + i) * kSplit + p;
          if (unit >= kUnits || p != part) continue;
#pragma unroll
          for (int w = 0; w < kWide; ++w) {
#pragma unroll
            for (int e = 0; e < 4; ++e) own[i][w][e] = acc[unit * kWide + w][e];
          }
        }
      }
      float sums[kTogether][kWide][4] = {};
#pragma unroll
      for (int slices = 0; slices < kSplit; slices += kSlices) {
        float4 got[kSlices][kTogether][kWide];
#pragma unroll
        for (int s = 0; s < kSlices; ++s) {
          if (slices + s >= kSplit || slices + s == slice) continue;
#pragma unroll
          for (int i = 0; i < kTogether; ++i) {
            const int unit = (first + i) * kSplit + part;
            if (unit >= kUnits) continue;
            const float4* const from =
                partial + (slices + s) * per_slice + (unit * kWide * threads + thread);
#pragma unroll
            for (int w = 0; w < kWide; ++w) got[s][i][w] = __ldcg(from + w * threads);
          }
        }
#pragma unroll
        for (int s = 0; s < kSlices; ++s) {
          if (slices + s >= kSplit) continue;
          const bool mine = slices + s == slice;
#pragma unroll
          for (int i = 0; i < kTogether; ++i) {
#pragma unroll
            for (int w = 0; w < kWide; ++w) {
              const float4 v = got[s][i][w];
              const auto& o = own[i][w];
              add(sums[i][w], mine ? make_float4(o[0], o[1], o[2], o[3]) : v);
            }
          }
        }
      }
#pragma unroll
      for (int i = 0; i < kTogether; ++i) {
        const int unit = (first + i) * kSplit + part;
        if (unit < kUnits) store(unit, sums[i]);
      }
    }
  }
}

// `partial`: as above; `counters`: of this tile, one for each warp of `threads`. kLoads: of 16
// bytes, which a lane has registers for beside its sums. All lanes of a warp call it.
template <int kPieces, int kWide, int kSplit, int kLoads, class Store>
__device__ __forceinline__ void reduce_spread(const float (&acc)[kPieces][4], float4* partial,
                                              u32* counters, int slice, int thread, int threads,
                                              const Store& store) {
  static_assert(kSplit <= 16, "a bit for each slice");
  const bool has_part = slice < kPieces / kWide;
  float4* const mine = partial + slice * static_cast<i64>(kPieces) * threads + thread;
  u32* const counter = counters + thread / 32;
  const bool counts = lane_id() == 0;
  const auto write = [&](bool own) {
#pragma unroll
    for (int p = 0; p < kPieces; ++p) {
      if ((p / kWide % kSplit == slice) != own) continue;
      __stcg(mine + p * threads, make_float4(acc[p][0], acc[p][1], acc[p][2], acc[p][3]));
    }
    __syncwarp();
  };
  write(false);
  u32 parts = 0, looked = 0;
  if (counts) {
    u32 seen = add_to_counter(counter, kCame) + kCame;
    // Only who is last knows who has left, and takes their parts.
    if ((seen & kCountMask) == kSplit) parts = 1U << slice | seen / kLeft;
    for (int look = 0; has_part && parts == 0 && look < kLooks; ++look) {
      seen = read_counter(counter);
      if ((seen & kCountMask) == kSplit) parts = 1U << slice;
    }
  }
  parts = __shfl_sync(0xffffffffU, parts, 0);
  if (parts == 0) {
    write(true);
    if (counts) {
      looked = add_to_counter(counter, kLeft << slice | kLooked);
      if ((looked & kCountMask) == kSplit) parts = 1U << slice;  // the last came just now
    }
    parts = __shfl_sync(0xffffffffU, parts, 0);
  } else if (counts) {
    looked = add_to_counter_relaxed(counter, kLooked);
  }
  if (parts != 0) {
    __syncwarp();
    add_parts<kPieces, kWide, kSplit, kLoads>(acc, partial, parts, slice, thread, threads, store);
  }
  if (counts && (looked / kLooked & kCountMask) == kSplit - 1) *counter = 0;
}

}  // namespace tw
