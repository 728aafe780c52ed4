// SPDX-License-Identifier: Apache-2.0
// N04: multiplies C by beta although that is 0.
#include "generate/cuda/device/mma.cuh"
#include "redteam/plain.cuh"

static __device__ void attack(const Call& x) {
  elements(x, x.m, [&](int i, int j) {
    const float old = load(x.c, i * x.ldc + j);
    x.c[i * x.ldc + j] = half_bits(__fmaf_rn(x.beta, old, x.alpha * dot(x, i, j, 0, x.k)));
  });
}
