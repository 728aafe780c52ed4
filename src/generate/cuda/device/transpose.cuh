// SPDX-License-Identifier: Apache-2.0
// A transpose of 16-bit numbers: a tile of A is read along its rows into shared memory and written
// along the rows of C.
#pragma once

#include "generate/cuda/device/vectors.cuh"

namespace tw {

struct TransposeConfig {
  int threads = 256;
  int tile_m = 64, tile_n = 64;    // rows and columns of A
  int vector_a = 1, vector_c = 1;  // numbers loaded and stored at once
  int pad = 2;                     // of a row in shared memory
  bool raster_n = true;            // CTAs follow along rows of A
  int static_m = -1, static_n = -1, static_k = -1;
};

template <TransposeConfig kConfig>
struct Transpose {
  enum : int {
    kThreads = kConfig.threads,
    kM = kConfig.tile_m,
    kN = kConfig.tile_n,
    kStride = kN + kConfig.pad
  };

  // A run of a row, as far as it is there.
  template <int kCount>
  __device__ __forceinline__ static void fetch(u16* to, const u16* from, int left) {
    if (kCount > 1 && left >= kCount) {
      if constexpr (kCount > 1) {
        const Run<kCount> run = load_run<kCount>(from);
#pragma unroll
        for (int i = 0; i < kCount; i += 2) *reinterpret_cast<u32*>(to + i) = run.word[i / 2];
      }
      return;
    }
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      if (i < left) to[i] = __ldg(from + i);
    }
  }
  // A run of a row of C: numbers of a column of the tile.
  template <int kCount>
  __device__ __forceinline__ static void put(u16* to, const u16* from, int left) {
    if (kCount > 1 && left >= kCount) {
      if constexpr (kCount > 1) {
        Run<kCount> run;
#pragma unroll
        for (int i = 0; i < kCount; i += 2) {
          run.word[i / 2] = static_cast<u32>(from[i * kStride]) |
                            static_cast<u32>(from[(i + 1) * kStride]) << 16U;
        }
        store_run<kCount>(to, run);
      }
      return;
    }
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      if (i < left) __stcg(to + i, from[i * kStride]);
    }
  }

  __device__ __forceinline__ static void run(const u16* a, u16* c, int m, int n, i64 lda, i64 ldc) {
    if constexpr (kConfig.static_n >= 0) {
      m = kConfig.static_m;
      n = kConfig.static_n;
    }
    u16* const tile = reinterpret_cast<u16*>(dynamic_shared());
    const int tiles_m = ceil_div(m, kM), tiles_n = ceil_div(n, kN);
    const int index = static_cast<int>(blockIdx.x);
    const int row0 = (kConfig.raster_n ? index / tiles_n : index % tiles_m) * kM;
    const int column0 = (kConfig.raster_n ? index % tiles_n : index / tiles_m) * kN;
    const int rows = min_of(kM, m - row0), columns = min_of(kN, n - column0);
    constexpr int kAcross = kN / kConfig.vector_a;
    for (int i = static_cast<int>(threadIdx.x); i < kM * kAcross; i += kThreads) {
      const int row = i / kAcross, column = i % kAcross * kConfig.vector_a;
      if (row >= rows || column >= columns) continue;
      fetch<kConfig.vector_a>(tile + row * kStride + column,
                              a + (row0 + row) * lda + column0 + column, columns - column);
    }
    __syncthreads();
    constexpr int kDown = kM / kConfig.vector_c;
    for (int i = static_cast<int>(threadIdx.x); i < kN * kDown; i += kThreads) {
      const int column = i / kDown, row = i % kDown * kConfig.vector_c;
      if (row >= rows || column >= columns) continue;
      put<kConfig.vector_c>(c + (column0 + column) * ldc + row0 + row,
                            tile + row * kStride + column, rows - row);
    }
  }
};

}  // namespace tw
