// SPDX-License-Identifier: Apache-2.0
// What is done to a finished sum besides scaling: relu, gelu with the error function, silu, on
// registers of f32 and without a library.
//
// Both smooth ones need exp(-y) for y >= 0 only, whose result may lie far below the smallest normal
// f32: it is kept as a fraction and two powers of two, so that a product with it is rounded once,
// at the end, and the negative tails are as right as the rest: a few units of 2^-24 relative, down
// to subnormals. NaN stays NaN, and both are -0 at -Inf. Read next: tile.h, finish().
#ifndef TILEWRIGHT_GENERATE_CPU_DEVICE_ACTIVATION_H
#define TILEWRIGHT_GENERATE_CPU_DEVICE_ACTIVATION_H

#include "generate/cpu/device/types.h"
#include "launch/cpu_abi.h"

namespace tw::cpu {
namespace {  // NOLINT(google-build-namespaces): see types.h

inline bool has_epilogue(const tw_cpu_gemm_args& args) {
  return args.bias != nullptr || args.activation != TW_CPU_NO_ACTIVATION;
}

// A number as fraction * first * second, the latter powers of two.
template <class I>
struct Scaled {
  typename I::Reg fraction, first, second;
};

// c[0] + x * (c[1] + x * ...).
template <class I, int kTerms>
[[gnu::always_inline]] inline typename I::Reg polynomial(typename I::Reg x,
                                                         const float (&c)[kTerms]) {
  typename I::Reg sum = I::fill(c[kTerms - 1]);
#pragma GCC unroll 16
  for (int i = kTerms - 2; i >= 0; --i) sum = I::fma(sum, x, I::fill(c[i]));
  return sum;
}

// exp(-(y + low)) for 0 <= y <= 128 and |low| <= 1/16. With n = round(y / ln 2) it is
// 2^-n * exp(n ln 2 - y - low), and the power series of exp is short there.
template <class I>
[[gnu::always_inline]] inline Scaled<I> exp_of_minus(typename I::Reg y, typename I::Reg low) {
  using Reg = typename I::Reg;
  using Word = typename I::Word;
  // Adding 1.5 * 2^23 leaves the rounded number in the lowest bits.
  const Reg shift = I::fill(0x1.8p23f);
  const Reg shifted = I::fma(y, I::fill(0x1.715476p0f), shift);
  const Word n = __builtin_bit_cast(Word, shifted) - __builtin_bit_cast(Word, shift);
  const Reg count = shifted - shift;
  // ln 2 in two parts; the first has nine bits, so that count times it is exact.
  const Reg rest = I::fma(count, I::fill(-2.12194440e-4f), count * I::fill(0.693359375f) - y) - low;
  static constexpr float kSeries[] = {1.0f,      1.0f,       1.0f / 2,   1.0f / 6,
                                      1.0f / 24, 1.0f / 120, 1.0f / 720, 1.0f / 5040};
  const Word half = n >> 1;
  return {polynomial<I>(rest, kSeries), __builtin_bit_cast(Reg, (127 - half) << 23),
          __builtin_bit_cast(Reg, (127 - (n - half)) << 23)};
}

// |x|, at most `limit`; NaN stays.
template <class I>
[[gnu::always_inline]] inline typename I::Reg magnitude(typename I::Reg x, float limit) {
  const typename I::Reg size = x < I::zero() ? I::zero() - x : x, most = I::fill(limit);
  return size > most ? most : size;
}

// x / (1 + exp(-x)), which is x exp(x) / (1 + exp(x)) below 0. Nothing of f32 is left at -120.
template <class I>
[[gnu::always_inline]] inline typename I::Reg silu(typename I::Reg x) {
  using Reg = typename I::Reg;
  const Reg size = magnitude<I>(x, 120.0f);
  const Scaled<I> e = exp_of_minus<I>(size, I::zero());
  const Reg reduced = e.fraction * e.first;
  const Reg above = x < I::zero() ? (I::zero() - size) * reduced : x;
  const Reg quotient = above / I::fma(reduced, e.second, I::fill(1.0f));
  return x < I::zero() ? quotient * e.second : quotient;
}

// x Phi(x). With a = |x|, Phi(-a) = exp(-a^2 / 2) h(a), where h falls slowly from 1/2 and is t
// times a polynomial in t = 1 / (1 + 0.35 a): interpolated at the Chebyshev nodes of a in [0, 15],
// off by 4e-8 relative. Nothing of f32 is left at -15.
template <class I>
[[gnu::always_inline]] inline typename I::Reg gelu(typename I::Reg x) {
  using Reg = typename I::Reg;
  using Word = typename I::Word;
  static constexpr float kTail[] = {0.139618642871f,  0.13991480395f,    0.119417036073f,
                                    0.107262773002f,  -0.0274828895531f, 0.165801801531f,
                                    -0.261712669226f, 0.146950922175f,   -0.0297704389966f};
  const Reg a = magnitude<I>(x, 15.0f), one = I::fill(1.0f), half = I::fill(0.5f);
  // a^2 / 2 in two parts: the square of the upper twelve bits is exact.
  const Reg upper = __builtin_bit_cast(Reg, (__builtin_bit_cast(Word, a) >> 12) << 12);
  const Scaled<I> e = exp_of_minus<I>(upper * upper * half, (a - upper) * (a + upper) * half);
  const Reg t = one / I::fma(a, I::fill(0.35f), one);
  const Reg tail = t * polynomial<I>(t, kTail) * e.fraction;
  const Reg below = (I::zero() - a) * tail * e.first * e.second;
  const Reg above = x * (one - tail * e.first * e.second);
  return x < I::zero() ? below : above;
}

template <class I>
[[gnu::always_inline]] inline typename I::Reg activated(typename I::Reg x, int32_t activation) {
  if (activation == TW_CPU_RELU) return x < I::zero() ? I::zero() : x;
  if (activation == TW_CPU_GELU) return gelu<I>(x);
  if (activation == TW_CPU_SILU) return silu<I>(x);
  return x;
}

}  // namespace
}  // namespace tw::cpu

#endif  // TILEWRIGHT_GENERATE_CPU_DEVICE_ACTIVATION_H
