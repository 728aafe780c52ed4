// SPDX-License-Identifier: Apache-2.0
// A tile from global to shared memory by threads, whatever its alignment: cp.async where rows
// divide by two elements or more, else through registers.
//
// With odd rows a chunk of 8 elements lies across two aligned vectors of 16 bytes. Both are loaded
// whole and shifted into place, which costs about 15 instructions a chunk instead of 8 loads of 2
// bytes. What surrounds a chunk is part of the same matrix, or of the gap between its rows; only
// the first and the last vector of a matrix are read number by number.
#pragma once

#include "generate/cuda/device/chain.cuh"
#include "generate/cuda/device/mma.cuh"

namespace tw {

// Some rows of an operand: `outer` rows of `inner` elements exist from `from` on, the matrix they
// lie in is [begin, end).
struct TileSource {
  const u16* from;
  i64 stride;
  int outer, inner;
  const u16* begin;
  const u16* end;
};

// Of an operand stored along K or not: from element (at, k) on. A is size x depth, B depth x size.
template <bool kAlongK>
__device__ __forceinline__ TileSource tile_source(const u16* base, i64 stride, int at, int k,
                                                  int size, int depth) {
  if constexpr (kAlongK) {
    return {base + at * stride + k,
            stride,
            size - at,
            depth - k,
            base,
            base + (size - 1) * stride + depth};
  } else {
    return {base + k * stride + at,
            stride,
            depth - k,
            size - at,
            base,
            base + (depth - 1) * stride + size};
  }
}

// Elements shift/2 ... shift/2 + 7 of 16; shift: bytes, even, below 16.
__device__ __forceinline__ void shift_down(u32 (&words)[4], const uint4& low, const uint4& high,
                                           u32 shift) {
  u32 w[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
  for (int i = 0; i < 6; ++i) w[i] = (shift & 8U) != 0 ? w[i + 2] : w[i];
#pragma unroll
  for (int i = 0; i < 5; ++i) w[i] = (shift & 4U) != 0 ? w[i + 1] : w[i];
  const u32 selector = (shift & 2U) != 0 ? 0x5432 : 0x3210;
#pragma unroll
  for (int i = 0; i < 4; ++i) words[i] = __byte_perm(w[i], w[i + 1], selector);
}

// A chunk on its way: what shift_down() makes it of.
struct LooseChunk {
  uint4 low, high;
  u32 shift;

  __device__ __forceinline__ void load(const u16* from, int valid, const TileSource& tile) {
    const u64 address = reinterpret_cast<u64>(from);
    const uint4* window = reinterpret_cast<const uint4*>(address & ~static_cast<u64>(15));
    if (valid == 8 && reinterpret_cast<const u16*>(window) >= tile.begin &&
        reinterpret_cast<const u16*>(window + 2) <= tile.end) {
      low = load_constant(window);
      high = load_constant(window + 1);
      shift = static_cast<u32>(address & 15U);
      return;
    }
    u32 words[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const u32 even = 2 * i < valid ? load_constant(from + 2 * i) : 0;
      const u32 odd = 2 * i + 1 < valid ? load_constant(from + 2 * i + 1) : 0;
      words[i] = even | odd << 16U;
    }
    low = make_uint4(words[0], words[1], words[2], words[3]);
    high = low;
    shift = 0;
  }
};

// Tile: kOuter rows of kChunks chunks of 8 elements, offset(row, chunk) in bytes. `thread` of
// kThreads takes part. What does not exist becomes zero. kVector: elements by which stride and
// addresses divide; 1 is done when this returns, else it is one of the thread's cp.async. kBatch:
// chunks under way at once (kVector = 1). kRolled: in a loop, or the addresses of all chunks would
// be kept in registers.
template <class Tile, int kThreads, int kVector, int kBatch = 2, bool kRolled = false>
__device__ __forceinline__ void copy_tile(u32 to, const TileSource& tile, int thread) {
  enum : int {
    kCount = Tile::kOuter * Tile::kChunks,
    kRounds = ceil_div(kCount, kThreads),
    kAtOnce = kVector == 1 || kRolled ? min_of(kBatch, kRounds) : 1,
  };
#pragma unroll(kRolled ? 1 : kRounds)
  for (int first = 0; first < kRounds; first += kAtOnce) {
    LooseChunk loose[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const int index = (first + i) * kThreads + thread;
      if (kCount % (kThreads * kAtOnce) != 0 && index >= kCount) break;
      const int row = index / Tile::kChunks;
      const int chunk = index % Tile::kChunks;
      const int valid = row < tile.outer ? min(max(tile.inner - chunk * 8, 0), 8) : 0;
      const u16* source = valid > 0 ? tile.from + row * tile.stride + chunk * 8 : tile.begin;
      if constexpr (kVector == 1) {
        loose[i].load(source, valid, tile);
      } else {
        const u32 target = to + Tile::offset(row, chunk);
#pragma unroll
        for (int e = 0; e < 8; e += kVector) {
          const int some = min(max(valid - e, 0), kVector);
          copy_async<2 * kVector>(target + 2 * e, some > 0 ? source + e : tile.begin, some * 2);
        }
      }
    }
    if constexpr (kVector == 1) {
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        const int index = (first + i) * kThreads + thread;
        if (kCount % (kThreads * kAtOnce) != 0 && index >= kCount) break;
        u32 words[4];
        shift_down(words, loose[i].low, loose[i].high, loose[i].shift);
        store_shared(to + Tile::offset(index / Tile::kChunks, index % Tile::kChunks), words);
      }
    }
  }
}

}  // namespace tw
