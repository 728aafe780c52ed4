// SPDX-License-Identifier: Apache-2.0
// The order in which CTAs take tiles. In groups of `group` rows of tiles (or columns), walked along
// the other axis, the tiles in flight share more of A and B in L2 than in plain row order; the
// paper calls it block swizzle.
#pragma once

#include "generate/cuda/device/types.cuh"

namespace tw {

struct Tile {
  int m, n;
};

// Tile `index` of rows x columns. kGroup = 1 is plain order; kAlongN walks groups of columns.
template <int kGroup, bool kAlongN>
__device__ __forceinline__ Tile raster(int index, int rows, int columns) {
  const int major = kAlongN ? columns : rows;
  const int minor = kAlongN ? rows : columns;
  int at_major, at_minor;
  if constexpr (kGroup == 1) {
    at_major = index / minor;
    at_minor = index - at_major * minor;
  } else {
    const int band = kGroup * minor;
    const int first = index / band * kGroup;
    const int height = min(kGroup, major - first);  // the last band may be lower
    const int within = index - first * minor;
    at_minor = within / height;
    at_major = first + within - at_minor * height;
  }
  return kAlongN ? Tile{at_minor, at_major} : Tile{at_major, at_minor};
}

}  // namespace tw
