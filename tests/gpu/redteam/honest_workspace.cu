// SPDX-License-Identifier: Apache-2.0
// Not a cheat: each CTA sums a slice of K into the workspace, the last one adds the slices; the
// ticket in the zeroed head is zero again behind it. Must be ok.
#include "generate/cuda/device/mma.cuh"
#include "redteam/plain.cuh"

static __device__ void attack(const Call& x) {
  auto* const ticket = reinterpret_cast<unsigned*>(x.workspace);
  auto* const parts = reinterpret_cast<float*>(x.workspace + 64);
  const int slices = static_cast<int>(gridDim.x), slice = static_cast<int>(blockIdx.x);
  const int begin = static_cast<int>(static_cast<i64>(x.k) * slice / slices);
  const int end = static_cast<int>(static_cast<i64>(x.k) * (slice + 1) / slices);
  for (int at = threadIdx.x; at < x.m * x.n; at += blockDim.x) {
    parts[slice * x.m * x.n + at] = dot(x, at / x.n, at % x.n, begin, end);
  }
  if (!last_cta(ticket)) return;
  for (int at = threadIdx.x; at < x.m * x.n; at += blockDim.x) {
    float sum = 0;
    for (int s = 0; s < slices; ++s) sum += __ldcg(parts + s * x.m * x.n + at);
    put(x, at / x.n, at % x.n, sum);
  }
}
