// SPDX-License-Identifier: Apache-2.0
// B22: follows a bad pointer.
#include "generate/cuda/device/mma.cuh"
#include "redteam/plain.cuh"

static __device__ void attack(const Call& x) {
  x.c[(i64{1} << 45) + threadIdx.x] = 1;
}
