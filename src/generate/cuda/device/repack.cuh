// SPDX-License-Identifier: Apache-2.0
// Copies operands to rows of whole 16 bytes, which a tensor map can describe: a kernel of its own
// before the product, for operands whose rows, entries or base are aligned to less.
//
// A copy is dense: rows of round_up(columns, 8) elements, one below the other, so it is a run of
// chunks of 8 elements, and a CTA makes kOfBlock of them. A chunk lies across two aligned vectors
// of its source, which are loaded whole and shifted (copy_tile.cuh); all of a thread's loads are
// under way before its first store. What follows the last column of a row is whatever lies there,
// within the operand: a tensor map never gives it out.
#pragma once

#include "generate/cuda/device/copy_tile.cuh"

namespace tw {

// Rows and entries are `stride` and `entry_stride` elements apart; the copy begins `at` bytes of
// the workspace. Entries that are all the same (entry_stride = 0) are copied once: entries = 1.
struct Repacked {
  const u16* from;
  i64 at;
  int rows, columns, entries;
  i64 stride, entry_stride;
};

struct Repack {
  enum : int { kThreads = 256, kChunks = 4, kOfBlock = kThreads * kChunks };

  __device__ __forceinline__ static void run(unsigned char* workspace, const Repacked& one) {
    copy(workspace, one, static_cast<int>(blockIdx.x));
  }
  // CTAs of the first operand, then those of the second.
  __device__ __forceinline__ static void run(unsigned char* workspace, const Repacked& first,
                                             const Repacked& second) {
    const i64 blocks = first.entries * blocks_of_entry(first);
    const i64 block = static_cast<i64>(blockIdx.x);
    if (block < blocks) {
      copy(workspace, first, block);
    } else {
      copy(workspace, second, block - blocks);
    }
  }

  __device__ __forceinline__ static i64 chunks_of_entry(const Repacked& o) {
    return static_cast<i64>(o.rows) * ceil_div(o.columns, 8);
  }
  __device__ __forceinline__ static i64 blocks_of_entry(const Repacked& o) {
    return (chunks_of_entry(o) + kOfBlock - 1) / kOfBlock;
  }

  __device__ __forceinline__ static void copy(unsigned char* workspace, const Repacked& o,
                                              i64 block) {
    const i64 chunks = chunks_of_entry(o);
    if (chunks == 0) return;  // K = 0: the grid has one CTA all the same
    const i64 blocks = blocks_of_entry(o);
    const i64 entry = block / blocks;
    const u16* matrix = o.from + entry * o.entry_stride;
    const TileSource source = {matrix,    o.stride, o.rows,
                               o.columns, matrix,   matrix + (o.rows - 1) * o.stride + o.columns};
    uint4* to = reinterpret_cast<uint4*>(workspace + o.at) + entry * chunks;
    const int of_row = ceil_div(o.columns, 8);
    const i64 first = (block - entry * blocks) * kOfBlock + static_cast<int>(threadIdx.x);
    i64 row = first / of_row;
    int at = static_cast<int>(first - row * of_row);
    LooseChunk loose[kChunks];
#pragma unroll
    for (int i = 0; i < kChunks; ++i) {
      if (first + i * kThreads < chunks) {
        const u16* from = matrix + row * o.stride + 8 * static_cast<i64>(at);
        // As if the matrix were one row: only its end may be nearer than 8 elements.
        const i64 left = source.end - from;
        loose[i].load(from, left < 8 ? static_cast<int>(left) : 8, source);
      }
      at += kThreads;
      row += at / of_row;
      at %= of_row;
    }
#pragma unroll
    for (int i = 0; i < kChunks; ++i) {
      if (first + i * kThreads >= chunks) break;
      u32 words[4];
      shift_down(words, loose[i].low, loose[i].high, loose[i].shift);
      to[first + i * kThreads] = make_uint4(words[0], words[1], words[2], words[3]);
    }
  }
};

}  // namespace tw
