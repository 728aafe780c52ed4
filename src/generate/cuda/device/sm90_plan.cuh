// SPDX-License-Identifier: Apache-2.0
// What a CTA of the family sm90 has to do: which tiles, which part of K, which part of a cluster;
// and where in the ring of stages it is.
#pragma once

#include "generate/cuda/device/raster.cuh"
#include "generate/cuda/device/sm90_config.cuh"

namespace tw {

// The stage that comes next, and the parity of its pass. Counted on, since a division by a number
// of stages that is no power of two takes longer than a small stage's products.
template <int kStages>
struct RingPlace {
  int stage;
  u32 pass;
  __device__ __forceinline__ void next() { skip(1); }
  // At most kStages further.
  __device__ __forceinline__ void skip(int count) {
    stage += count;
    if (stage >= kStages) {
      stage -= kStages;
      pass ^= 1U;
    }
  }
  __device__ __forceinline__ void skip_any(int count) {
    const int turns = count / kStages;
    pass ^= static_cast<u32>(turns & 1);
    skip(count - turns * kStages);
  }
};

// Whether a matrix of 16-bit numbers is more than half of an H100's or H200's L2.
__device__ __forceinline__ bool exceeds_l2(int rows, int columns) {
  return static_cast<i64>(rows) * columns > 12 << 20;
}

template <Sm90Config C>
struct Sm90Tiles {
  enum : int {
    kMulticast = C.cluster_m * C.cluster_n,
    kClusterSplit = C.reduce == Reduce::cluster ? C.split : 1,
    kCluster = kMulticast * kClusterSplit,
    // 4 x 4 tiles, in clusters, across and along the walk.
    kBlockMajor = C.blocks ? 4 / (C.raster_n ? C.cluster_n : C.cluster_m) : C.group,
    kBlockMinor = C.blocks ? 4 / (C.raster_n ? C.cluster_m : C.cluster_n) : 1,
  };

  struct Work {  // one tile, or a slice of its K
    int row0, column0, entry;
    Span k;
  };
  // What this CTA has to do, the same in all its threads.
  struct Plan {
    int clusters_m, clusters_n;  // tiles of clusters
    int total;                   // of all batch entries; a tile that is cut counts for each slice
    int first, step;             // this CTA's
    int first_k, count_k;        // in tiles of K
    int part_m, part_n;          // which part of the cluster
    int whole, left, cuts;       // tiles that are not cut, those that are, and slices of each
    bool streams_a, streams_b;   // who is read once, and is more than the L2 keeps
  };

  // One bit for each CTA along N in the first row of the cluster.
  __device__ __forceinline__ static constexpr int column_mask() {
    int mask = 0;
    for (int i = 0; i < C.cluster_n; ++i) mask |= 1 << (i * C.cluster_m);
    return mask;
  }

  __device__ __forceinline__ static Plan plan(const Sizes& s, int batch, int depth) {
    Plan p;
    p.clusters_m = ceil_div(ceil_div(s.m, C.tile_m), C.cluster_m);
    p.clusters_n = ceil_div(ceil_div(s.n, C.tile_n), C.cluster_n);
    p.total = p.clusters_m * p.clusters_n * batch;
    p.streams_a = p.clusters_n == 1 && exceeds_l2(s.m, s.k);
    p.streams_b = p.clusters_m == 1 && exceeds_l2(s.k, s.n);
    const int clusters = static_cast<int>(gridDim.x) / kCluster;
    const int index = static_cast<int>(blockIdx.x) / kCluster;
    p.first = kCluster > 1 ? dealt(index, clusters) : index;
    p.step = C.persistent ? clusters : p.total;
    const int rank = kCluster > 1 ? static_cast<int>(blockIdx.x) % kCluster : 0;
    p.part_m = kMulticast > 1 ? rank % C.cluster_m : 0;
    p.part_n = kMulticast > 1 ? rank / C.cluster_m : 0;
    const int slice = C.reduce == Reduce::cluster ? rank
                      : C.reduce != Reduce::none  ? static_cast<int>(blockIdx.y)
                                                  : 0;
    const int tiles_k = ceil_div(depth, C.tile_k);
    const int share = ceil_div(tiles_k, C.split);
    p.first_k = slice * share;
    p.count_k = min(share, tiles_k - p.first_k);
    // Without anything to sum, one tile from beyond K, which reads as zeros: so that accumulators
    // have one source, or they would be copied, and spilled. (A map of K = 0 has one column.)
    if (p.count_k <= 0) {
      p.first_k = max(ceil_div(s.k, C.tile_k), 1);
      p.count_k = 1;
    }
    p.whole = p.total;
    if constexpr (C.stream) {
      p.left = p.total % clusters;
      p.cuts = p.left == 0 || p.total < clusters ? 1 : cuts_of(p.left, clusters, p.count_k);
      if (p.cuts > 1) {
        p.whole -= p.left;
        p.total += p.left * (p.cuts - 1);
      }
    }
    return p;
  }
  // Which slice of a tile `index` is, of the tiles that are cut.
  struct Slice {
    int tile, slice;
  };
  __device__ __forceinline__ static Slice slice(const Plan& p, int index) {
    const int unit = index - p.whole;
    const int slice = unit / p.left;
    return {unit - slice * p.left, slice};
  }
  // What of K is to be summed.
  __device__ __forceinline__ static Span span(const Plan& p, int index) {
    if (!C.stream || index < p.whole) return {p.first_k, p.count_k};
    const int at = slice(p, index).slice;
    const int begin = at * p.count_k / p.cuts, end = (at + 1) * p.count_k / p.cuts;
    return {p.first_k + begin, end - begin};
  }
  __device__ __forceinline__ static Work work(const Plan& p, int index) {
    const int per_entry = p.clusters_m * p.clusters_n;
    const int at = C.stream && index >= p.whole ? p.whole + slice(p, index).tile : index;
    const int entry = at / per_entry;
    const Tile tile = raster<C.group, C.raster_n, kBlockMajor, kBlockMinor>(
        at - entry * per_entry, p.clusters_m, p.clusters_n);
    return {(tile.m * C.cluster_m + p.part_m) * C.tile_m,
            (tile.n * C.cluster_n + p.part_n) * C.tile_n, entry, span(p, index)};
  }
};

}  // namespace tw
