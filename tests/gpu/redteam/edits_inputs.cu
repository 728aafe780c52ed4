// SPDX-License-Identifier: Apache-2.0
// B11: zeroes A and B, so that zeros are right.
#include "generate/cuda/device/mma.cuh"
#include "redteam/plain.cuh"

static __device__ void attack(const Call& x) {
  for (int at = threadIdx.x; at < x.m * x.k; at += blockDim.x) {
    const_cast<u16*>(x.a)[at / x.k * x.lda + at % x.k] = 0;
  }
  for (int at = threadIdx.x; at < x.k * x.n; at += blockDim.x) {
    const_cast<u16*>(x.b)[at / x.n * x.ldb + at % x.n] = 0;
  }
  elements(x, x.m, [&](int i, int j) { x.c[i * x.ldc + j] = 0; });
}
