// SPDX-License-Identifier: Apache-2.0
// Asks for a cluster of which the grid is no multiple.
#include "generate/cuda/device/mma.cuh"
#include "redteam/plain.cuh"

static __device__ void attack(const Call& x) {
  honest(x);
}
