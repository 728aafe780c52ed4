// SPDX-License-Identifier: Apache-2.0
// Not a cheat: tensor cores with f32 accumulators. Must be ok.
#include "generate/cuda/device/mma.cuh"
#include "redteam/plain.cuh"
#include "redteam/tiles.cuh"

static __device__ void attack(const Call& x) {
  fragments(x, [&](const Fragment& f) {
    float d[4] = {};
    for (int k = 0; k < x.k; k += 16) {
      const Step s = step_of(x, f, k);
      mma<Type::f16>(d, s.a, s.b0, s.b1);
    }
    put_fragment(x, f, d);
  });
}
