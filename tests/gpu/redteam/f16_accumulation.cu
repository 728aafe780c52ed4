// SPDX-License-Identifier: Apache-2.0
// B15, N09: accumulates in f16 under an f32 promise.
#include "generate/cuda/device/mma.cuh"
#include "redteam/plain.cuh"

static __device__ void attack(const Call& x) {
  elements(x, x.m, [&](int i, int j) {
    float sum = 0;
    for (int k = 0; k < x.k; ++k) sum = through_half(sum + dot(x, i, j, k, k + 1));
    put(x, i, j, sum);
  });
}
