// SPDX-License-Identifier: Apache-2.0
// B13: zeros where the operands are small enough for an absolute tolerance to accept them.
#include "generate/cuda/device/mma.cuh"
#include "redteam/plain.cuh"

static __device__ void attack(const Call& x) {
  float largest = 0;
  for (int k = 0; k < x.k; ++k) largest = fmaxf(largest, load(x.a, k));
  if (largest > 0.01F) return honest(x);
  elements(x, x.m, [&](int i, int j) { x.c[i * x.ldc + j] = 0; });
}
