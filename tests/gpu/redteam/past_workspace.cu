// SPDX-License-Identifier: Apache-2.0
// B20: writes past the end of the workspace that it asked for.
#include "generate/cuda/device/mma.cuh"
#include "redteam/plain.cuh"

static __device__ void attack(const Call& x) {
  honest(x);
  if (threadIdx.x == 0) x.workspace[256] ^= 0xff;
}
