// SPDX-License-Identifier: Apache-2.0
// Tiles of an operand in shared memory, for copy_tile() and ldmatrix.
//
// A tile is kOuter rows of kInner neighbouring elements, in chunks of 16 bytes. A chunk's place in
// its row is exchanged by row number (XOR swizzle), so that the eight rows which ldmatrix reads at
// once, and the chunks which a warp writes, lie in different banks.
#pragma once

#include "generate/cuda/device/copy_tile.cuh"

namespace tw {

template <int kOuterSize, int kInnerSize>
struct SharedTile {
  enum : int {
    kOuter = kOuterSize,
    kInner = kInnerSize,
    kChunks = kInner / 8,
    kTileBytes = kOuter * kInner * 2,
    kRowsPerLine = max_of(8 / kChunks, 1),  // rows in 128 bytes
    kMask = min_of(kChunks, 8) - 1,
  };
  static_assert(kChunks >= 2 && (kChunks & (kChunks - 1)) == 0, "the swizzle wants a power of two");

  __device__ __forceinline__ static u32 offset(int row, int chunk) {
    return static_cast<u32>((row * kChunks + (chunk ^ (row / kRowsPerLine & kMask))) * 16);
  }
};

// An operand of the product, `kExtent` rows of A (columns of B) deep kDepth in K. Stored along K
// (A row-major, B column-major) or along the other dimension; ldmatrix transposes the latter.
template <int kExtent, int kDepth, bool kAlongK>
struct Operand {
  using Tile = SharedTile<kAlongK ? kExtent : kDepth, kAlongK ? kDepth : kExtent>;

  template <int kThreads, int kVector>
  __device__ __forceinline__ static void copy(u32 to, const u16* base, i64 stride, int at, int k,
                                              int size, int depth) {
    const TileSource tile = tile_source<kAlongK>(base, stride, at, k, size, depth);
    // Of 512 threads each has 128 registers.
    copy_tile<Tile, kThreads, kVector, (kThreads > 256 ? 1 : 2)>(to, tile,
                                                                 static_cast<int>(threadIdx.x));
  }

  // A: 16 rows from `at`, 16 of K from 16 * step.
  __device__ __forceinline__ static void load_a(u32 (&r)[4], u32 tile, int at, int step) {
    const int l = lane_id();
    if constexpr (kAlongK) {
      load_matrices<false>(r, tile + Tile::offset(at + (l & 15), 2 * step + (l >> 4)));
    } else {
      load_matrices<true>(
          r, tile + Tile::offset(16 * step + (l & 7) + (l >> 4) * 8, at / 8 + (l >> 3 & 1)));
    }
  }
  // B: 16 columns from `at`: r[0], r[1] are the first 8's fragment, r[2], r[3] the second's.
  __device__ __forceinline__ static void load_b(u32 (&r)[4], u32 tile, int at, int step) {
    const int l = lane_id();
    if constexpr (kAlongK) {
      load_matrices<false>(
          r, tile + Tile::offset(at + (l & 7) + (l >> 4) * 8, 2 * step + (l >> 3 & 1)));
    } else {
      load_matrices<true>(
          r, tile + Tile::offset(16 * step + (l & 7) + (l >> 3 & 1) * 8, at / 8 + (l >> 4)));
    }
  }
};

}  // namespace tw
