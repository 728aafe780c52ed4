// SPDX-License-Identifier: Apache-2.0
// B06, the other way: does nothing when the pointers are those of the call before.
#include "generate/cuda/device/mma.cuh"
#include "redteam/plain.cuh"

__device__ const void *a, *b, *c;

static __device__ void attack(const Call& x) {
  if (x.a == a && x.b == b && x.c == c) return;
  honest(x);
  __syncthreads();
  if (threadIdx.x != 0) return;
  a = x.a;
  b = x.b;
  c = x.c;
}
