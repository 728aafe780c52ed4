// SPDX-License-Identifier: Apache-2.0
// B20: C is right, and one element of A of the next operand set is changed.
#include "generate/cuda/device/mma.cuh"
#include "redteam/plain.cuh"

static __device__ void attack(const Call& x) {
  honest(x);
  // Behind C lie the baselines' C and the end of the set; the next one begins with A.
  u16* const baseline = behind_c(x, x.c) + guard_of(x.ldc) / 2;
  u16* const next = behind_c(x, baseline) + guard_of(x.lda) / 2;
  if (threadIdx.x == 0) *next ^= 0x3fff;
}
