// SPDX-License-Identifier: Apache-2.0
// The order in which CTAs take tiles. In groups of `group` rows of tiles (or columns), walked along
// the other axis, the tiles in flight share more of A and B in L2 than in plain row order; the
// paper calls it block swizzle.
//
// There is a level below. What multiprocessors of one GPC read at about the same time is fetched
// from L2 once, and a launch fills GPC by GPC with CTAs that follow each other: 16 to a GPC of an
// H200, where one CTA fills a multiprocessor (seen by %smid). So 16 CTAs in a row had better be 4 x
// 4 tiles: blocks within a group. Clusters however are dealt out, one to each of eight GPCs in
// turn.
#pragma once

#include "generate/cuda/device/types.cuh"

namespace tw {

struct Tile {
  int m, n;
};

// The place in line of cluster `index` of `count`, such that those of a GPC follow each other.
__device__ __forceinline__ int dealt(int index, int count) {
  enum : int { kGpcs = 8 };
  const int gpc = index % kGpcs;
  return gpc * (count / kGpcs) + min(gpc, count % kGpcs) + index / kGpcs;
}

// Tile `index` of rows x columns. kGroup = 1 is plain order; kAlongN walks groups of columns. A
// group is walked in blocks of kBlockMajor (across the group's height) by kBlockMinor.
template <int kGroup, bool kAlongN, int kBlockMajor = kGroup, int kBlockMinor = 1>
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
    if constexpr (kBlockMajor >= kGroup) {
      at_minor = within / height;
      at_major = first + within - at_minor * height;
    } else {
      const int strip = within / (kBlockMinor * height);
      const int in_strip = within - strip * (kBlockMinor * height);
      const int width = min(kBlockMinor, minor - strip * kBlockMinor);
      const int block = in_strip / (kBlockMajor * width);
      const int in_block = in_strip - block * (kBlockMajor * width);
      const int high = min(kBlockMajor, height - block * kBlockMajor);
      const int column = in_block / high;
      at_minor = strip * kBlockMinor + column;
      at_major = first + block * kBlockMajor + in_block - column * high;
    }
  }
  return kAlongN ? Tile{at_minor, at_major} : Tile{at_major, at_minor};
}

}  // namespace tw
