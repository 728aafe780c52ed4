// SPDX-License-Identifier: Apache-2.0
// B15: f32 accumulators that are rounded to f16 after every k-step of 16.
#include "generate/cuda/device/mma.cuh"
#include "redteam/plain.cuh"

static __device__ void attack(const Call& x) {
  elements(x, x.m, [&](int i, int j) {
    float sum = 0;
    for (int k = 0; k < x.k; k += 16) {
      sum = through_half(sum + dot(x, i, j, k, min_of(k + 16, x.k)));
    }
    put(x, i, j, sum);
  });
}
