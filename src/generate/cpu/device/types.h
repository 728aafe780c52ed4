// SPDX-License-Identifier: Apache-2.0
// The vocabulary of the CPU device headers: element types, the problem a kernel was generated for,
// and the small integer helpers that the workspace expressions of a program also use.
//
// A generated candidate is one translation unit that includes one form (direct.h, dot.h or
// blocked.h) and one instruction set (isa_*.h). Everything here lives in an unnamed namespace: two
// candidates built with different instruction sets can be linked into one test without sharing a
// line of code. Nothing here allocates, keeps state or calls a library. Read next: team.h.
#ifndef TILEWRIGHT_GENERATE_CPU_DEVICE_TYPES_H
#define TILEWRIGHT_GENERATE_CPU_DEVICE_TYPES_H

#include <stdint.h>

namespace tw::cpu {
namespace {  // NOLINT(google-build-namespaces): see above

// Storage only; arithmetic is always f32. Aligned as uint16_t: operands may start at any even byte.
struct F16 {
  uint16_t bits;
};
struct Bf16 {
  uint16_t bits;
};

template <class T, class U>
constexpr bool kSame = false;
template <class T>
constexpr bool kSame<T, T> = true;

// Words of packed panels are written as integers (pairs) and read as floats.
typedef uint32_t __attribute__((may_alias)) AliasedU32;

// Sizes that are fixed when the kernel is generated; kRuntime means: read them from the arguments.
constexpr int64_t kRuntime = -1;
struct Sizes {
  int64_t m = kRuntime, n = kRuntime, k = kRuntime;
};

// Layout letters as in cpu_abi.h: t means that the operand is stored transposed.
enum class Layout { kNN, kNT, kTN, kTT };

template <class In, class Out, Layout kLayout, Sizes kSizes = Sizes{}>
struct Gemm {
  using Input = In;
  using Output = Out;
  static constexpr bool kTransA = kLayout == Layout::kTN || kLayout == Layout::kTT;
  static constexpr bool kTransB = kLayout == Layout::kNT || kLayout == Layout::kTT;
  static constexpr Sizes kFixed = kSizes;
};

// Which dimension the team divides: batch entries, rows, columns, a grid of both, or the inner one
// (each thread then holds an f32 partial of the whole product; the team adds them after a barrier).
enum class Split { kBatch, kM, kN, kMN, kK };
// Inner loop order of the register tiles: kNM keeps a panel of B close while A passes, kMN the
// other way round.
enum class Order { kNM, kMN };
// How B is kept in a packed panel: not packed, widened, as stored, or as pairs along k (vdpbf16ps).
enum class PackB { kNone, kF32, kHalf, kPair };
enum class PackA { kNone, kF32 };

constexpr int64_t min(int64_t x, int64_t y) {
  return x < y ? x : y;
}
constexpr int64_t max(int64_t x, int64_t y) {
  return x < y ? y : x;
}
constexpr int64_t cdiv(int64_t x, int64_t y) {
  return (x + y - 1) / y;
}
constexpr int64_t roundup(int64_t x, int64_t y) {
  return cdiv(x, y) * y;
}

// Widening is exact. bf16 is the upper half of an f32.
inline float widen(float x) {
  return x;
}
inline float widen(Bf16 x) {
  return __builtin_bit_cast(float, uint32_t{x.bits} << 16);
}
inline float widen(F16 x) {
  const uint32_t sign = uint32_t{x.bits & 0x8000u} << 16;
  const uint32_t rest = x.bits & 0x7fffu;
  if (rest >= 0x7c00u) {  // Inf and NaN; a NaN becomes quiet, as vcvtph2ps makes it
    const uint32_t quiet = rest > 0x7c00u ? 0x00400000u : 0u;
    return __builtin_bit_cast(float, sign | 0x7f800000u | (rest & 0x3ffu) << 13 | quiet);
  }
  if (rest >= 0x0400u) return __builtin_bit_cast(float, sign | ((rest << 13) + 0x38000000u));
  // Subnormal: an integer times 2^-24, exact in f32.
  const float magnitude = static_cast<float>(rest) * 0x1p-24f;
  return __builtin_bit_cast(float, sign | __builtin_bit_cast(uint32_t, magnitude));
}

// Narrowing rounds to nearest even; too large becomes Inf, NaN stays NaN, subnormals are kept.
inline void narrow(float* to, float x) {
  *to = x;
}
inline void narrow(Bf16* to, float x) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) {
    to->bits = static_cast<uint16_t>(bits >> 16 | 0x40u);
    return;
  }
  to->bits = static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}
inline void narrow(F16* to, float x) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, x);
  const uint32_t sign = bits >> 16 & 0x8000u;
  const uint32_t rest = bits & 0x7fffffffu;
  uint32_t half;
  if (rest > 0x7f800000u) {
    half = 0x7e00u | (rest >> 13 & 0x3ffu);
  } else if (rest >= 0x477ff000u) {  // 65520 and above round to Inf
    half = 0x7c00u;
  } else if (rest >= 0x38800000u) {  // normal: 2^-14 and above
    half = (rest - 0x38000000u + 0xfffu + (rest >> 13 & 1u)) >> 13;
  } else {
    // Adding 0.5 leaves exactly the bits of a multiple of 2^-24, rounded to nearest even.
    const float shifted = __builtin_bit_cast(float, rest) + 0.5f;
    half = __builtin_bit_cast(uint32_t, shifted) - 0x3f000000u;
  }
  to->bits = static_cast<uint16_t>(sign | half);
}

}  // namespace
}  // namespace tw::cpu

#endif  // TILEWRIGHT_GENERATE_CPU_DEVICE_TYPES_H
