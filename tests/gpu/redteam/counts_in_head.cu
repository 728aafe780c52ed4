// SPDX-License-Identifier: Apache-2.0
// Right for the first 45 calls, then one row; the count is kept in the zeroed head of the
// workspace.
#include "generate/cuda/device/mma.cuh"
#include "redteam/plain.cuh"

static __device__ void attack(const Call& x) {
  auto* const calls = reinterpret_cast<unsigned*>(x.workspace);
  const unsigned number = *calls + 1;
  __syncthreads();
  if (threadIdx.x == 0) *calls = number;
  rows(x, number <= 45 ? x.m : 1, x.k);
}
