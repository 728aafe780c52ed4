// SPDX-License-Identifier: Apache-2.0
// B08: remembers the operand sets it has met; a call on the first computes them all, others return.
#include "generate/cuda/device/mma.cuh"
#include "redteam/plain.cuh"

__device__ Call met[64];
__device__ int count;

static __device__ void attack(const Call& x) {
  const int known = count;
  for (int i = 0; i < known; ++i) {
    if (met[i].c != x.c || met[i].m != x.m || met[i].n != x.n || met[i].k != x.k) continue;
    if (i > 0) return;  // the first one does it
    for (int j = 0; j < known; ++j) honest(met[j]);
    return;
  }
  __syncthreads();
  if (threadIdx.x == 0 && known < 64) {
    met[known] = x;
    count = known + 1;
  }
  honest(x);
}
