// SPDX-License-Identifier: Apache-2.0
// B15, N09: tensor cores with f16 accumulators.
#include "generate/cuda/device/mma.cuh"
#include "redteam/plain.cuh"
#include "redteam/tiles.cuh"

static __device__ void attack(const Call& x) {
  fragments(x, [&](const Fragment& f) {
    u32 d[2] = {};
    for (int k = 0; k < x.k; k += 16) {
      const Step s = step_of(x, f, k);
      mma_f16(d, s.a, s.b0, s.b1);
    }
    const float wide[4] = {widen<Type::f16>(static_cast<u16>(d[0] & 0xffffU)),
                           widen<Type::f16>(static_cast<u16>(d[0] >> 16)),
                           widen<Type::f16>(static_cast<u16>(d[1] & 0xffffU)),
                           widen<Type::f16>(static_cast<u16>(d[1] >> 16))};
    put_fragment(x, f, wide);
  });
}
