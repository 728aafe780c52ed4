// SPDX-License-Identifier: Apache-2.0
// Right for as long as proof and timing last: then it does one row where C is NaN.
#include "generate/cuda/device/mma.cuh"
#include "redteam/plain.cuh"

__device__ int calls;

static __device__ void attack(const Call& x) {
  const int number = calls + 1;
  const float first = load(x.c, 0);
  __syncthreads();
  if (threadIdx.x == 0) calls = number;
  rows(x, number <= 55 || first == first ? x.m : 1, x.k);
}
