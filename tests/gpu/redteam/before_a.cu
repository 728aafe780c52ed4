// SPDX-License-Identifier: Apache-2.0
// B20: C is right, and the element before A is changed.
#include "generate/cuda/device/mma.cuh"
#include "redteam/plain.cuh"

static __device__ void attack(const Call& x) {
  honest(x);
  if (threadIdx.x == 0) const_cast<u16*>(x.a)[-1] ^= 0xffff;
}
