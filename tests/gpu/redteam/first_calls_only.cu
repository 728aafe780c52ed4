// SPDX-License-Identifier: Apache-2.0
// Right for as long as a proof lasts; then it does one row. (The test sees to it that timing starts
// after call 40.)
#include "generate/cuda/device/mma.cuh"
#include "redteam/plain.cuh"

__device__ int calls;

static __device__ void attack(const Call& x) {
  const int number = calls + 1;
  __syncthreads();
  if (threadIdx.x == 0) calls = number;
  rows(x, number <= 45 ? x.m : 1, x.k);
}
