// SPDX-License-Identifier: Apache-2.0
// Operands that no tensor map can describe (rows that are not a multiple of 16 bytes apart), for
// wgmma all the same: threads copy a tile to where the copy engine would have put it.
#pragma once

#include "generate/cuda/device/copy_tile.cuh"
#include "generate/cuda/device/sm90_operand.cuh"

namespace tw {

// Boxed: a BoxedOperand. Its boxes side by side are the rows of a tile; the engine's swizzle
// exchanges chunks by the number of their 128-byte line (bits 4 to 6 by bits 7 to 9).
template <class Boxed>
struct BoxedTile {
  enum : int {
    kOuter = Boxed::kRows,
    kChunksOfBox = Boxed::kAtom / 8,
    kChunks = Boxed::kBoxes * kChunksOfBox,
  };
  __device__ __forceinline__ static u32 offset(int row, int chunk) {
    const u32 at = static_cast<u32>(chunk / kChunksOfBox * Boxed::kBoxBytes +
                                    row * Boxed::kSwizzle + chunk % kChunksOfBox * 16);
    return at ^ (at >> 3U & static_cast<u32>(Boxed::kSwizzle - 16));
  }
};

// Where such operands lie, besides what the kernel knows of its sizes.
template <bool kGathers>
struct GatherSource {};
template <>
struct GatherSource<true> {
  const u16* a;
  const u16* b;
};

}  // namespace tw
