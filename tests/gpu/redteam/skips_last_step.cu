// SPDX-License-Identifier: Apache-2.0
// Leaves out the last k-step of 16 of all but the first tile.
#include "generate/cuda/device/mma.cuh"
#include "redteam/plain.cuh"

static __device__ void attack(const Call& x) {
  elements(x, x.m, [&](int i, int j) {
    put(x, i, j, dot(x, i, j, 0, i < 16 && j < 16 ? x.k : x.k - min_of(x.k, 16)));
  });
}
