// SPDX-License-Identifier: Apache-2.0
// B15, N08: rounds the partial sums of every 64 terms to bf16.
#include "generate/cuda/device/mma.cuh"
#include "redteam/plain.cuh"

static __device__ void attack(const Call& x) {
  elements(x, x.m, [&](int i, int j) {
    float sum = 0;
    for (int k = 0; k < x.k; k += 64) sum += through_bf16(dot(x, i, j, k, min_of(k + 64, x.k)));
    put(x, i, j, sum);
  });
}
