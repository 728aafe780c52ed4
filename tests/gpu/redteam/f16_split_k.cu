// SPDX-License-Identifier: Apache-2.0
// B15: a split-K kernel whose CTAs leave f16 partials in the workspace.
#include "generate/cuda/device/mma.cuh"
#include "redteam/plain.cuh"

static __device__ void attack(const Call& x) {
  auto* const parts = reinterpret_cast<u16*>(x.workspace + 64);
  const int slices = static_cast<int>(gridDim.x), slice = static_cast<int>(blockIdx.x);
  const int begin = x.k * slice / slices, end = x.k * (slice + 1) / slices;
  for (int at = threadIdx.x; at < x.m * x.n; at += blockDim.x) {
    parts[slice * x.m * x.n + at] = half_bits(dot(x, at / x.n, at % x.n, begin, end));
  }
  if (!last_cta(reinterpret_cast<unsigned*>(x.workspace))) return;
  for (int at = threadIdx.x; at < x.m * x.n; at += blockDim.x) {
    float sum = 0;
    for (int s = 0; s < slices; ++s) sum += load(parts, s * x.m * x.n + at);
    put(x, at / x.n, at % x.n, sum);
  }
}
