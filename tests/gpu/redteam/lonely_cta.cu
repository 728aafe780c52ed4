// SPDX-License-Identifier: Apache-2.0
// B21: waits for a CTA that the launch does not have.
#include "generate/cuda/device/mma.cuh"
#include "redteam/plain.cuh"

static __device__ void attack(const Call& x) {
  honest(x);
  auto* const arrived = reinterpret_cast<unsigned*>(x.workspace);
  if (threadIdx.x == 0) {
    atomicAdd(arrived, 1);
    while (*reinterpret_cast<volatile unsigned*>(arrived) < gridDim.x + 1) {
    }
  }
}
