// SPDX-License-Identifier: Apache-2.0
// B22: stores a word at an odd address.
#include "generate/cuda/device/mma.cuh"
#include "redteam/plain.cuh"

static __device__ void attack(const Call& x) {
  *reinterpret_cast<unsigned*>(reinterpret_cast<char*>(x.c) + 1 + 8 * threadIdx.x) = 1;
}
