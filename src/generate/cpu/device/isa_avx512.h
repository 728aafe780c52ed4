// SPDX-License-Identifier: Apache-2.0
// AVX-512 (F, BW, VL, DQ): 16 lanes, 32 registers, masked edges that cannot fault.
//
// f16 widens by vcvtph2ps; bf16 by a shift, which keeps subnormals. A 32-element load of bf16
// widens into two registers with two cheap operations (even elements: shift left; odd elements:
// clear the lower half) against four for the order of memory; the lanes are then "grouped" and
// ungroup() restores the order once, after the loop over k.
//
// Avx512Bf16 adds vdpbf16ps. That instruction treats subnormal inputs as zero and flushes subnormal
// results whatever MXCSR says (Intel SDM vol. 2, VDPBF16PS), so programs that use it must be
// reported as flushing; its rounding to bf16 stays the exact one below, not vcvtneps2bf16, which
// flushes as well.
#ifndef TILEWRIGHT_GENERATE_CPU_DEVICE_ISA_AVX512_H
#define TILEWRIGHT_GENERATE_CPU_DEVICE_ISA_AVX512_H

// The undefined registers of GCC 12's intrinsics look like uninitialised variables to its own
// warnings (gcc.gnu.org PR 105593).
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#pragma GCC diagnostic pop

#include "generate/cpu/device/types.h"

namespace tw::cpu {
namespace {  // NOLINT(google-build-namespaces): see types.h

struct Avx512 {
  using Reg = __m512;
  typedef uint32_t __attribute__((vector_size(64))) Word;
  static constexpr int kWidth = 16;
  template <class T>
  static constexpr int kGroup = kSame<T, Bf16> ? 2 : 1;
  static constexpr bool kPairs = false;

  static Reg zero() { return _mm512_setzero_ps(); }
  static Reg fill(float x) { return _mm512_set1_ps(x); }
  static Reg multiply(Reg x, Reg y) { return _mm512_mul_ps(x, y); }
  static Reg add(Reg x, Reg y) { return _mm512_add_ps(x, y); }
  static Reg fma(Reg x, Reg y, Reg sum) { return _mm512_fmadd_ps(x, y, sum); }
  static float sum(Reg x) {
    const __m256 half = _mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
  }
  static void prefetch(const void* at) { _mm_prefetch(at, _MM_HINT_T0); }

  static Reg load(const float* from) { return _mm512_loadu_ps(from); }
  static void store(float* to, Reg x) { _mm512_storeu_ps(to, x); }

  static __mmask16 lanes(int64_t n) {
    return static_cast<__mmask16>(n >= 16 ? 0xffffu : n <= 0 ? 0u : (1u << n) - 1u);
  }
  static __mmask32 half_lanes(int64_t n) {
    return static_cast<__mmask32>(n >= 32 ? 0xffffffffu : n <= 0 ? 0u : (1u << n) - 1u);
  }
  static Reg from_bf16(__m256i x) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(x), 16));
  }

  static Reg load_wide(const float* from) { return _mm512_loadu_ps(from); }
  static Reg load_wide(const F16* from) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
  }
  static Reg load_wide(const Bf16* from) {
    return from_bf16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
  }
  static Reg load_wide_n(const float* from, int64_t n) {
    return _mm512_maskz_loadu_ps(lanes(n), from);
  }
  static Reg load_wide_n(const F16* from, int64_t n) {
    return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(lanes(n), from));
  }
  static Reg load_wide_n(const Bf16* from, int64_t n) {
    return from_bf16(_mm256_maskz_loadu_epi16(lanes(n), from));
  }
  static Reg fill_wide(const float* from) { return _mm512_set1_ps(*from); }
  static Reg fill_wide(const F16* from) {
    return _mm512_cvtph_ps(_mm256_set1_epi16(static_cast<short>(from->bits)));
  }
  static Reg fill_wide(const Bf16* from) { return _mm512_set1_ps(widen(*from)); }

  static __m256i to_bf16(Reg x) {
    const __m512i bits = _mm512_castps_si512(x);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i up = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
    const __m512i quiet = _mm512_or_si512(bits, _mm512_set1_epi32(0x00400000));
    const __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    return _mm512_cvtepi32_epi16(_mm512_srli_epi32(_mm512_mask_blend_epi32(nan, up, quiet), 16));
  }
  static __m256i to_f16(Reg x) {
    return _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
  static void store_narrow(float* to, Reg x) { _mm512_storeu_ps(to, x); }
  static void store_narrow(F16* to, Reg x) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), to_f16(x));
  }
  static void store_narrow(Bf16* to, Reg x) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), to_bf16(x));
  }
  static void store_narrow_n(float* to, Reg x, int64_t n) {
    _mm512_mask_storeu_ps(to, lanes(n), x);
  }
  static void store_narrow_n(F16* to, Reg x, int64_t n) {
    _mm256_mask_storeu_epi16(to, lanes(n), to_f16(x));
  }
  static void store_narrow_n(Bf16* to, Reg x, int64_t n) {
    _mm256_mask_storeu_epi16(to, lanes(n), to_bf16(x));
  }

  template <class T>
  static void load_group(const T* from, Reg* to) {
    if constexpr (kGroup<T> == 1) {
      to[0] = load_wide(from);
    } else {
      split_pairs<T>(_mm512_loadu_ps(reinterpret_cast<const float*>(from)), to);
    }
  }
  template <class T>
  static void load_group_n(const T* from, Reg* to, int64_t n) {
    if constexpr (kGroup<T> == 1) {
      to[0] = load_wide_n(from, n);
    } else {
      split_pairs<T>(load_pairs_n(from, n), to);
    }
  }
  template <class T>
  static void ungroup(Reg* x) {
    if constexpr (kGroup<T> == 2) {
      const __m512i lower =
          _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
      const __m512i upper = _mm512_add_epi32(lower, _mm512_set1_epi32(8));
      const Reg first = _mm512_permutex2var_ps(x[0], lower, x[1]);
      x[1] = _mm512_permutex2var_ps(x[0], upper, x[1]);
      x[0] = first;
    }
  }

  // Words: a register of 16 pairs of halves, for packing.
  template <class T>
  static Reg load_pairs(const T* from) {
    return _mm512_loadu_ps(reinterpret_cast<const float*>(from));
  }
  template <class T>
  static Reg load_pairs_n(const T* from, int64_t n) {
    return _mm512_castsi512_ps(_mm512_maskz_loadu_epi16(half_lanes(n), from));
  }
  // The first and the second elements of the pairs, widened.
  template <class T>
  static void split_pairs(Reg pairs, Reg* to) {
    const __m512i x = _mm512_castps_si512(pairs);
    if constexpr (kSame<T, Bf16>) {
      to[0] = _mm512_castsi512_ps(_mm512_slli_epi32(x, 16));
      to[1] = _mm512_castsi512_ps(_mm512_and_si512(x, _mm512_set1_epi32(-0x10000)));
    } else {
      to[0] = _mm512_cvtph_ps(_mm512_cvtepi32_epi16(x));
      to[1] = _mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_srli_epi32(x, 16)));
    }
  }
  // The same as halves: 16 first elements to `first`, 16 second elements to `second`.
  template <class T>
  static void store_halves(Reg pairs, T* first, T* second) {
    const __m512i x = _mm512_castps_si512(pairs);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(first), _mm512_cvtepi32_epi16(x));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(second),
                        _mm512_cvtepi32_epi16(_mm512_srli_epi32(x, 16)));
  }
  // Pairs (first[i], second[i]); n lanes, the rest zero.
  template <class T>
  static Reg join_rows_n(const T* first, const T* second, int64_t n, int64_t n_second) {
    const __m512i x = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(lanes(n), first));
    const __m512i y = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(lanes(n_second), second));
    return _mm512_castsi512_ps(_mm512_or_si512(x, _mm512_slli_epi32(y, 16)));
  }
  // A 16 x 16 transpose of 32-bit lanes: 2 x 2 and 4 x 4 inside 128-bit lanes, then the lanes.
  static void transpose(Reg* r) {
    __m512 t[16];
#pragma GCC unroll 8
    for (int i = 0; i < 16; i += 4) {
      const __m512 a = _mm512_unpacklo_ps(r[i], r[i + 1]);
      const __m512 b = _mm512_unpackhi_ps(r[i], r[i + 1]);
      const __m512 c = _mm512_unpacklo_ps(r[i + 2], r[i + 3]);
      const __m512 d = _mm512_unpackhi_ps(r[i + 2], r[i + 3]);
      t[i] = _mm512_shuffle_ps(a, c, 0x44);
      t[i + 1] = _mm512_shuffle_ps(a, c, 0xee);
      t[i + 2] = _mm512_shuffle_ps(b, d, 0x44);
      t[i + 3] = _mm512_shuffle_ps(b, d, 0xee);
    }
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      const __m512 a = _mm512_shuffle_f32x4(t[j], t[4 + j], 0x88);
      const __m512 b = _mm512_shuffle_f32x4(t[8 + j], t[12 + j], 0x88);
      const __m512 c = _mm512_shuffle_f32x4(t[j], t[4 + j], 0xdd);
      const __m512 d = _mm512_shuffle_f32x4(t[8 + j], t[12 + j], 0xdd);
      r[j] = _mm512_shuffle_f32x4(a, b, 0x88);
      r[8 + j] = _mm512_shuffle_f32x4(a, b, 0xdd);
      r[4 + j] = _mm512_shuffle_f32x4(c, d, 0x88);
      r[12 + j] = _mm512_shuffle_f32x4(c, d, 0xdd);
    }
  }
};

#ifdef __AVX512BF16__
struct Avx512Bf16 : Avx512 {
  static constexpr bool kPairs = true;
  // sum[i] += x[2i] * y[2i] + x[2i + 1] * y[2i + 1] on bf16 pairs.
  static Reg dot_pairs(Reg x, Reg y, Reg sum) {
    return _mm512_dpbf16_ps(sum, __builtin_bit_cast(__m512bh, x), __builtin_bit_cast(__m512bh, y));
  }
};
#endif

}  // namespace
}  // namespace tw::cpu

#endif  // TILEWRIGHT_GENERATE_CPU_DEVICE_ISA_AVX512_H
