// SPDX-License-Identifier: Apache-2.0
// Its launch passes fewer arguments than the kernel takes.
#include "generate/cuda/device/mma.cuh"
#include "redteam/plain.cuh"

static __device__ void attack(const Call& x) {
  honest(x);
}
