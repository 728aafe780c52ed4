// SPDX-License-Identifier: Apache-2.0
// A kernel from outside, written by hand: C = A B for row-major f16, 16 x 16 results to a CTA through
// shared memory, f32 accumulation, any sizes. With its launch file it goes through the same gate as a
// generated one:
//
//   tilewright bench 1000x500x200 --device cuda --source examples/tiled_gemm.cu
//
// It is slow on purpose: change it, and the proof will tell what it still computes.

// No header of the toolkit is there, so f16 is handled by its bits (PTX ISA, cvt).
__device__ float widen(unsigned short bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}
__device__ unsigned short narrow(float value) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}

extern "C" __global__ void __launch_bounds__(256)
tw_kernel(const unsigned short* a, const unsigned short* b, unsigned short* c, int m, int n, int k,
          long long lda, long long ldb, long long ldc) {
  __shared__ float tile_a[16][17], tile_b[16][17];  // a column more, so that banks differ
  const int x = threadIdx.x % 16, y = threadIdx.x / 16;
  const int row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
  float sum = 0;
  for (int first = 0; first < k; first += 16) {
    tile_a[y][x] = row < m && first + x < k ? widen(a[row * lda + first + x]) : 0;
    tile_b[y][x] = first + y < k && column < n ? widen(b[(first + y) * ldb + column]) : 0;
    __syncthreads();
    for (int i = 0; i < 16; ++i) sum += tile_a[y][i] * tile_b[i][x];
    __syncthreads();
  }
  if (row < m && column < n) c[row * ldc + column] = narrow(sum);
}
