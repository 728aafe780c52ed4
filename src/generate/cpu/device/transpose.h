// SPDX-License-Identifier: Apache-2.0
// A transpose of 16-bit numbers: tiles that stay in the first-level cache, in which squares of 8 or
// 16 are turned in registers. Threads divide the rows of A or of C.
#ifndef TILEWRIGHT_GENERATE_CPU_DEVICE_TRANSPOSE_H
#define TILEWRIGHT_GENERATE_CPU_DEVICE_TRANSPOSE_H

#include "generate/cpu/device/team.h"

namespace tw::cpu {
namespace {  // NOLINT(google-build-namespaces): see types.h

struct TransposePlan {
  int block = 1;                 // squares that registers turn
  int tile_m = 64, tile_n = 64;  // rows and columns of A
  int prefetch = 0;              // rows of A ahead
  Order order = Order::kMN;      // kMN: tiles follow along rows of A
  Split split = Split::kM;
};

// The square at `from`, kBlock rows `lda` apart, to `to`: a perfect shuffle of the rows,
// log2(kBlock) times, leaves its columns.
template <int kBlock>
[[gnu::always_inline]] inline void turn(const uint16_t* from, int64_t lda, uint16_t* to,
                                        int64_t ldc) {
  typedef uint16_t Half __attribute__((vector_size(kBlock * 2)));
  Half r[kBlock], t[kBlock];
#pragma GCC unroll 16
  for (int i = 0; i < kBlock; ++i) __builtin_memcpy(&r[i], from + i * lda, sizeof(Half));
#pragma GCC unroll 4
  for (int step = kBlock / 2; step > 0; step /= 2) {
#pragma GCC unroll 8
    for (int i = 0; i < kBlock / 2; ++i) {
      if constexpr (kBlock == 8) {
        t[2 * i] = __builtin_shufflevector(r[i], r[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
        t[2 * i + 1] = __builtin_shufflevector(r[i], r[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
      } else {
        t[2 * i] = __builtin_shufflevector(r[i], r[i + 8], 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21,
                                           6, 22, 7, 23);
        t[2 * i + 1] = __builtin_shufflevector(r[i], r[i + 8], 8, 24, 9, 25, 10, 26, 11, 27, 12, 28,
                                               13, 29, 14, 30, 15, 31);
      }
    }
#pragma GCC unroll 16
    for (int i = 0; i < kBlock; ++i) r[i] = t[i];
  }
#pragma GCC unroll 16
  for (int j = 0; j < kBlock; ++j) __builtin_memcpy(to + j * ldc, &r[j], sizeof(Half));
}

inline void turn_any(const uint16_t* from, int64_t lda, uint16_t* to, int64_t ldc, int64_t rows,
                     int64_t columns) {
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) to[j * ldc + i] = from[i * lda + j];
  }
}

template <TransposePlan kPlan>
[[gnu::always_inline]] inline void turn_tile(const uint16_t* from, int64_t lda, uint16_t* to,
                                             int64_t ldc, int64_t rows, int64_t columns) {
  if constexpr (kPlan.block == 1) {
    turn_any(from, lda, to, ldc, rows, columns);
  } else {
    constexpr int kBlock = kPlan.block;
    int64_t i = 0;
    for (; i + kBlock <= rows; i += kBlock) {
      if constexpr (kPlan.prefetch != 0) {
#pragma GCC unroll 16
        for (int p = 0; p < kBlock; ++p) {
          __builtin_prefetch(from + (i + kPlan.prefetch + p) * lda, 0, 3);
        }
      }
      int64_t j = 0;
      for (; j + kBlock <= columns; j += kBlock) {
        turn<kBlock>(from + i * lda + j, lda, to + j * ldc + i, ldc);
      }
      turn_any(from + i * lda + j, lda, to + j * ldc + i, ldc, kBlock, columns - j);
    }
    turn_any(from + i * lda, lda, to + i, ldc, rows - i, columns);
  }
}

template <Sizes kSizes, TransposePlan kPlan>
void transpose(const tw_cpu_gemm_args& args, const tw_cpu_team& team) {
  const int64_t m = kSizes.m == kRuntime ? args.m : kSizes.m;
  const int64_t n = kSizes.n == kRuntime ? args.n : kSizes.n;
  // Cuts at 16 numbers: no two threads write to one square.
  constexpr int64_t kStep = 16;
  Range rows = {0, m}, columns = {0, n};
  (kPlan.split == Split::kM ? rows : columns) =
      part_of(kPlan.split == Split::kM ? m : n, kStep, team.threads, team.thread);
  const uint16_t* a = static_cast<const uint16_t*>(args.a);
  uint16_t* c = static_cast<uint16_t*>(args.c);
  constexpr bool kRowsFirst = kPlan.order == Order::kNM;
  const int64_t row_tiles = cdiv(rows.size(), kPlan.tile_m);
  const int64_t column_tiles = cdiv(columns.size(), kPlan.tile_n);
  for (int64_t o = 0; o < (kRowsFirst ? column_tiles : row_tiles); ++o) {
    for (int64_t i = 0; i < (kRowsFirst ? row_tiles : column_tiles); ++i) {
      const int64_t row = rows.begin + (kRowsFirst ? i : o) * kPlan.tile_m;
      const int64_t column = columns.begin + (kRowsFirst ? o : i) * kPlan.tile_n;
      turn_tile<kPlan>(a + row * args.lda + column, args.lda, c + column * args.ldc + row, args.ldc,
                       min(kPlan.tile_m, rows.end - row), min(kPlan.tile_n, columns.end - column));
    }
  }
}

}  // namespace
}  // namespace tw::cpu

#endif  // TILEWRIGHT_GENERATE_CPU_DEVICE_TRANSPOSE_H
