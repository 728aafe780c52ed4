// SPDX-License-Identifier: Apache-2.0
// A convolution as a product: the left operand, which is not stored, is gathered from the image on
// its way to shared memory (implicit GEMM).
//
// Row i of A is the window under output pixel i; its K runs over the filter's rows, its columns and
// the channels, as rows of B do. A chunk of channels lies in one pixel, so it is one copy, or zeros
// where the filter hangs over the edge. All sizes are constants: the divisions that find a chunk's
// pixel become multiplications, and what depends on its row alone leaves the loop over K.
#pragma once

#include "generate/cuda/device/copy_tile.cuh"

namespace tw {

// channels = 0: no convolution, A is stored.
struct Image {
  int height = 0, width = 0, channels = 0;
  int filter_height = 1, filter_width = 1;
  int stride = 1, pad = 0;  // in both directions
  int out_height = 0, out_width = 0;
};

// The tile of A from (row0, k0) on, of `rows` x `depth`, by kThreads threads: as copy_tile(), with
// which it shares kVector. `stride`: elements from pixel to pixel.
template <Image I, class Tile, int kThreads, int kVector>
__device__ __forceinline__ void copy_windows(u32 to, const u16* image, i64 stride, int row0, int k0,
                                             int rows, int depth, int thread) {
  enum : int { kCount = Tile::kOuter * Tile::kChunks, kRounds = ceil_div(kCount, kThreads) };
  static_assert(I.channels % kVector == 0, "a copy is of one pixel");
#pragma unroll
  for (int round = 0; round < kRounds; ++round) {
    const int index = round * kThreads + thread;
    if (kCount % kThreads != 0 && index >= kCount) break;
    const int row = index / Tile::kChunks, chunk = index % Tile::kChunks;
    const int pixel = row0 + row;
    const int picture = pixel / (I.out_height * I.out_width);
    const int top = pixel / I.out_width % I.out_height * I.stride - I.pad;
    const int left = pixel % I.out_width * I.stride - I.pad;
    const auto at = [&](int k, bool& inside) {
      const int place = k / I.channels, channel = k % I.channels;
      const int y = top + place / I.filter_width, x = left + place % I.filter_width;
      inside = pixel < rows && k < depth && y >= 0 && y < I.height && x >= 0 && x < I.width;
      return inside ? image + ((picture * I.height + y) * static_cast<i64>(I.width) + x) * stride +
                          channel
                    : image;
    };
    const u32 target = to + Tile::offset(row, chunk);
    const int k = k0 + 8 * chunk;
    bool inside = false;
    if constexpr (kVector == 1) {
      u32 words[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const u16* even = at(k + 2 * i, inside);
        words[i] = inside ? __ldg(even) : 0;
        const u16* odd = at(k + 2 * i + 1, inside);
        words[i] |= (inside ? static_cast<u32>(__ldg(odd)) : 0U) << 16U;
      }
      store_shared(target, words);
    } else {
#pragma unroll
      for (int e = 0; e < 8; e += kVector) {
        const u16* from = at(k + e, inside);
        copy_async<2 * kVector>(target + 2 * e, from, inside ? 2 * kVector : 0);
      }
    }
  }
}

}  // namespace tw
