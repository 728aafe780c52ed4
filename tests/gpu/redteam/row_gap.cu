// SPDX-License-Identifier: Apache-2.0
// B20: C is right, and whole vectors are stored across the gap between its rows.
#include "generate/cuda/device/mma.cuh"
#include "redteam/plain.cuh"

static __device__ void attack(const Call& x) {
  honest(x);
  for (int i = static_cast<int>(threadIdx.x); i + 1 < x.m; i += static_cast<int>(blockDim.x)) {
    for (int j = x.n; j < round_up(x.n, 16) && j < x.ldc; ++j) x.c[i * x.ldc + j] = 0;
  }
}
