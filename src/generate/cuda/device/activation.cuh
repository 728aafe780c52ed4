// SPDX-License-Identifier: Apache-2.0
// What the runtime library adds behind a product: a bias for each column, then an activation, both
// in f32 before the one rounding. Kernels that are searched and timed have none of this (Served =
// false): only those of a bundle do, which one cubin must serve every call with.
#pragma once

#include "generate/cuda/device/ptx.cuh"

namespace tw {

// As tw_activation of tilewright.h.
enum Activation : int { kNoActivation = 0, kRelu = 1, kGelu = 2, kSilu = 3 };

// x * Phi(x). The tail of Phi is exp(-x^2/2) / 2 times a polynomial in t = 1 / (1 + 0.4 |x|/sqrt
// 2), fitted to exp(z^2) erfc(z) on [0, 10] with a relative error of 9e-8, so that small results
// are right too, which 1 + erf is not.
__device__ __forceinline__ float gelu(float x) {
  const float t = reciprocal(1.0F + 0.28284271247F * fabsf(x));
  float p = 0.038508509F;
  p = fmaf(p, t, -0.1274464349F);
  p = fmaf(p, t, 0.05845088799F);
  p = fmaf(p, t, 0.1158586134F);
  p = fmaf(p, t, 0.06146568687F);
  p = fmaf(p, t, 0.2007425484F);
  p = fmaf(p, t, 0.200125255F);
  p = fmaf(p, t, 0.2266732652F);
  p = fmaf(p, t, 0.2256217069F);
  const float tail = 0.5F * t * p * power_of_two(-0.72134752F * x * x);
  return x * (x < 0.0F ? tail : 1.0F - tail);
}

__device__ __forceinline__ float silu(float x) {
  return x * reciprocal(1.0F + power_of_two(-1.44269504F * x));
}

// In place; one decision for all of them, or every number would have the text of every activation.
template <int kCount>
__device__ __forceinline__ void activate(float (&v)[kCount], int activation) {
  if (activation == kNoActivation) return;
  if (activation == kGelu) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) v[i] = gelu(v[i]);
  } else if (activation == kSilu) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) v[i] = silu(v[i]);
  } else {
#pragma unroll
    for (int i = 0; i < kCount; ++i) v[i] = v[i] < 0.0F ? 0.0F : v[i];  // NaN stays NaN
  }
}

// What a served kernel is told beside alpha and beta; nothing where it is not one.
template <bool kServed>
struct Served {};
template <>
struct Served<true> {
  const void* bias;  // numbers of C's type, one for each column, or null
  int activation;
};

}  // namespace tw
