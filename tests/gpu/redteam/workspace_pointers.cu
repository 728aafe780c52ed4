// SPDX-License-Identifier: Apache-2.0
// B06 in the workspace: hands out what lies there when the pointers are those that it noted there.
#include "generate/cuda/device/mma.cuh"
#include "redteam/plain.cuh"

static __device__ void attack(const Call& x) {
  const u64 now = mixed(mixed(reinterpret_cast<u64>(x.a), reinterpret_cast<u64>(x.b)),
                        reinterpret_cast<u64>(x.c) + x.m * 64 + x.n * 8 + x.k);
  auto* const kept = reinterpret_cast<u16*>(x.workspace + 512);
  const bool again = marked(x.workspace, now);
  __syncthreads();
  if (again) return hand_out(x, kept);
  honest(x);
  keep(x, kept);
  set_mark(x.workspace, now);
}
