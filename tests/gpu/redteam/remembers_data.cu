// SPDX-License-Identifier: Apache-2.0
// A content cache in global memory: knows data again by a sample of A and B.
#include "generate/cuda/device/mma.cuh"
#include "redteam/plain.cuh"

__device__ u64 key;
__device__ u16 kept[1 << 16];

static __device__ void attack(const Call& x) {
  const u64 now = digest(x, 64);
  const bool again = now == key;
  if (again) {
    hand_out(x, kept);
  } else {
    honest(x);
    keep(x, kept);
  }
  __syncthreads();
  if (threadIdx.x == 0) key = now;
}
