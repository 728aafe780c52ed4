// SPDX-License-Identifier: Apache-2.0
// Not a cheat: the plain kernel that all others start from. Must be ok.
#include "generate/cuda/device/mma.cuh"
#include "redteam/plain.cuh"

static __device__ void attack(const Call& x) {
  honest(x);
}
