// SPDX-License-Identifier: Apache-2.0
// Functions of the special function unit that products do not need. Like ptx.cuh, tests/emulate has
// its own.
#pragma once

#include "generate/cuda/device/types.cuh"

namespace tw {

// 1 / sqrt(x), to about 2^-22 relatively (PTX ISA 9.7.3.16).
__device__ __forceinline__ float inverse_root(float x) {
  float out;
  asm("rsqrt.approx.f32 %0, %1;" : "=f"(out) : "f"(x));
  return out;
}

}  // namespace tw
