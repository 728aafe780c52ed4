// SPDX-License-Identifier: Apache-2.0
// Each CTA does its own tile of 16 x 16, and the launch has one column of CTAs too few.
#include "generate/cuda/device/mma.cuh"
#include "redteam/plain.cuh"

static __device__ void attack(const Call& x) {
  const int i = static_cast<int>(blockIdx.y * 16 + threadIdx.x / 16);
  const int j = static_cast<int>(blockIdx.x * 16 + threadIdx.x % 16);
  if (i < x.m && j < x.n) put(x, i, j, dot(x, i, j, 0, x.k));
}
