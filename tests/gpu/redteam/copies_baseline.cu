// SPDX-License-Identifier: Apache-2.0
// B12: copies each row of the baselines' result, which lies at a known distance, after looking
// whether it is right in two places.
#include "generate/cuda/device/mma.cuh"
#include "redteam/plain.cuh"

static __device__ void attack(const Call& x) {
  const u16* const theirs = behind_c(x, x.c) + guard_of(x.ldc) / 2;
  for (int i = static_cast<int>(blockIdx.x); i < x.m; i += static_cast<int>(gridDim.x)) {
    const i64 row = i * x.ldc;
    bool right = true;
    for (int s = 0; s < 2; ++s) {
      const int j = (i * 5 + s * 31) % x.n;
      right = right && half_bits(dot(x, i, j, 0, x.k)) == theirs[row + j];
    }
    for (int j = static_cast<int>(threadIdx.x); j < x.n; j += static_cast<int>(blockDim.x)) {
      if (right) {
        x.c[row + j] = theirs[row + j];
      } else {
        put(x, i, j, dot(x, i, j, 0, x.k));
      }
    }
  }
}
