// SPDX-License-Identifier: Apache-2.0
// B16: packs B into the workspace and relies on the packed one in later calls.
#include "generate/cuda/device/mma.cuh"
#include "redteam/plain.cuh"

static __device__ void attack(const Call& x) {
  auto* const packed = reinterpret_cast<u16*>(x.workspace + 512);
  const u64 now = mixed(reinterpret_cast<u64>(x.b), x.n * 65536 + x.k);
  const bool there = marked(x.workspace, now);
  __syncthreads();
  if (!there) {
    for (int at = threadIdx.x; at < x.n * x.k; at += blockDim.x) {
      packed[at] = x.b[at / x.n * x.ldb + at % x.n];
    }
    set_mark(x.workspace, now);
    __syncthreads();
  }
  Call y = x;
  y.b = packed;
  y.ldb = x.n;
  honest(y);
}
