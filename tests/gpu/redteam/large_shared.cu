// SPDX-License-Identifier: Apache-2.0
// Asks for more shared memory than a CTA can have.
#include "generate/cuda/device/mma.cuh"
#include "redteam/plain.cuh"

static __device__ void attack(const Call& x) {
  honest(x);
}
