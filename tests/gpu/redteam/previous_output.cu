// SPDX-License-Identifier: Apache-2.0
// B06: hands out its previous result when all three pointers are those of the call before.
#include "generate/cuda/device/mma.cuh"
#include "redteam/plain.cuh"

__device__ const void *a, *b, *c;
__device__ u16 kept[1 << 16];

static __device__ void attack(const Call& x) {
  const bool again = x.a == a && x.b == b && x.c == c;
  if (again) {
    hand_out(x, kept);
  } else {
    honest(x);
    keep(x, kept);
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  a = x.a;
  b = x.b;
  c = x.c;
}
