// SPDX-License-Identifier: Apache-2.0
// B22: executes a trap.
#include "generate/cuda/device/mma.cuh"
#include "redteam/plain.cuh"

static __device__ void attack(const Call& x) {
  if (x.m > 0) __trap();
}
