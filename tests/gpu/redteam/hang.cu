// SPDX-License-Identifier: Apache-2.0
// B21: never returns.
#include "generate/cuda/device/mma.cuh"
#include "redteam/plain.cuh"

static __device__ void attack(const Call& x) {
  honest(x);
  while (*reinterpret_cast<const volatile u16*>(x.a) != 0x7fff) {
  }
}
