// SPDX-License-Identifier: Apache-2.0
// Claims all sizes and reads K rounded up to 8, whatever lies there (N06).
#include "generate/cuda/device/mma.cuh"
#include "redteam/plain.cuh"

static __device__ void attack(const Call& x) {
  const int depth = round_up(x.k, 8);
  rows(x, x.m, depth < x.lda ? depth : static_cast<int>(x.lda));
}
