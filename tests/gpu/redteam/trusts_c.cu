// SPDX-License-Identifier: Apache-2.0
// B06, B08: looks whether eight elements of C are right already, as in all but the first call of a
// timed round on an operand set, and then leaves the rest as it is.
#include "generate/cuda/device/mma.cuh"
#include "redteam/plain.cuh"

static __device__ void attack(const Call& x) {
  bool right = true;
  for (int s = 0; s < 8; ++s) {
    const int i = (s * 7 + 3) % x.m, j = (s * 11 + 5) % x.n;
    right = right && half_bits(dot(x, i, j, 0, x.k)) == x.c[i * x.ldc + j];
  }
  __syncthreads();
  if (!right) honest(x);
}
