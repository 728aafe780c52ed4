// SPDX-License-Identifier: Apache-2.0
// Leaves one fragment of 16 x 8 of one tile undone.
#include "generate/cuda/device/mma.cuh"
#include "redteam/plain.cuh"

static __device__ void attack(const Call& x) {
  elements(x, x.m, [&](int i, int j) {
    if (i / 16 != 1 || j / 8 != 5) put(x, i, j, dot(x, i, j, 0, x.k));
  });
}
