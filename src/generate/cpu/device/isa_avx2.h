// SPDX-License-Identifier: Apache-2.0
// AVX2 + FMA + F16C: 8 lanes, 16 registers. Edges go lane by lane through a small buffer on the
// stack, since AVX2 has no masks for 16-bit elements. See isa_scalar.h for the contract and
// isa_avx512.h for what grouped lanes are.
#ifndef TILEWRIGHT_GENERATE_CPU_DEVICE_ISA_AVX2_H
#define TILEWRIGHT_GENERATE_CPU_DEVICE_ISA_AVX2_H

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

struct Avx2 {
  using Reg = __m256;
  typedef uint32_t __attribute__((vector_size(32))) Word;
  static constexpr int kWidth = 8;
  template <class T>
  static constexpr int kGroup = kSame<T, Bf16> ? 2 : 1;
  static constexpr bool kPairs = false;

  static Reg zero() { return _mm256_setzero_ps(); }
  static Reg fill(float x) { return _mm256_set1_ps(x); }
  static Reg multiply(Reg x, Reg y) { return _mm256_mul_ps(x, y); }
  static Reg add(Reg x, Reg y) { return _mm256_add_ps(x, y); }
  static Reg fma(Reg x, Reg y, Reg sum) { return _mm256_fmadd_ps(x, y, sum); }
  static float sum(Reg x) {
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
  }
  static void prefetch(const void* at) { _mm_prefetch(at, _MM_HINT_T0); }

  static Reg load(const float* from) { return _mm256_loadu_ps(from); }
  static void store(float* to, Reg x) { _mm256_storeu_ps(to, x); }

  static Reg from_bf16(__m128i x) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(x), 16));
  }
  static Reg load_wide(const float* from) { return _mm256_loadu_ps(from); }
  static Reg load_wide(const F16* from) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  }
  static Reg load_wide(const Bf16* from) {
    return from_bf16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  }
  template <class T>
  static Reg load_wide_n(const T* from, int64_t n) {
    if (n >= kWidth) return load_wide(from);
    T lane[kWidth] = {};
    for (int64_t i = 0; i < n; ++i) lane[i] = from[i];
    return load_wide(lane);
  }
  static Reg fill_wide(const float* from) { return _mm256_set1_ps(*from); }
  static Reg fill_wide(const F16* from) {
    return _mm256_cvtph_ps(_mm_set1_epi16(static_cast<short>(from->bits)));
  }
  static Reg fill_wide(const Bf16* from) { return _mm256_set1_ps(widen(*from)); }

  static void store_narrow(float* to, Reg x) { _mm256_storeu_ps(to, x); }
  static void store_narrow(F16* to, Reg x) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                     _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
  static void store_narrow(Bf16* to, Reg x) {
    const __m256i bits = _mm256_castps_si256(x);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i up = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd);
    const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x00400000));
    const __m256 nan = _mm256_cmp_ps(x, x, _CMP_UNORD_Q);
    const __m256i kept = _mm256_castps_si256(
        _mm256_blendv_ps(_mm256_castsi256_ps(up), _mm256_castsi256_ps(quiet), nan));
    const __m256i y = _mm256_srli_epi32(kept, 16);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                     _mm_packus_epi32(_mm256_castsi256_si128(y), _mm256_extracti128_si256(y, 1)));
  }
  template <class T>
  static void store_narrow_n(T* to, Reg x, int64_t n) {
    if (n >= kWidth) return store_narrow(to, x);
    T lane[kWidth];
    store_narrow(lane, x);
    for (int64_t i = 0; i < n; ++i) to[i] = lane[i];
  }

  template <class T>
  static void load_group(const T* from, Reg* to) {
    if constexpr (kGroup<T> == 1) {
      to[0] = load_wide(from);
    } else {
      split_pairs<T>(_mm256_loadu_ps(reinterpret_cast<const float*>(from)), to);
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
      const Reg lower = _mm256_unpacklo_ps(x[0], x[1]);
      const Reg upper = _mm256_unpackhi_ps(x[0], x[1]);
      x[0] = _mm256_permute2f128_ps(lower, upper, 0x20);
      x[1] = _mm256_permute2f128_ps(lower, upper, 0x31);
    }
  }

  template <class T>
  static Reg load_pairs(const T* from) {
    return _mm256_loadu_ps(reinterpret_cast<const float*>(from));
  }
  template <class T>
  static Reg load_pairs_n(const T* from, int64_t n) {
    if (n >= 2 * kWidth) return load_pairs(from);
    T lane[2 * kWidth] = {};
    for (int64_t i = 0; i < n; ++i) lane[i] = from[i];
    return load_pairs(lane);
  }
  // The lower halves of 8 words, in order.
  static __m128i lower_halves(__m256i x) {
    const __m256i y = _mm256_and_si256(x, _mm256_set1_epi32(0xffff));
    return _mm_packus_epi32(_mm256_castsi256_si128(y), _mm256_extracti128_si256(y, 1));
  }
  template <class T>
  static void split_pairs(Reg pairs, Reg* to) {
    const __m256i x = _mm256_castps_si256(pairs);
    if constexpr (kSame<T, Bf16>) {
      to[0] = _mm256_castsi256_ps(_mm256_slli_epi32(x, 16));
      to[1] = _mm256_castsi256_ps(_mm256_and_si256(x, _mm256_set1_epi32(-0x10000)));
    } else {
      to[0] = _mm256_cvtph_ps(lower_halves(x));
      to[1] = _mm256_cvtph_ps(lower_halves(_mm256_srli_epi32(x, 16)));
    }
  }
  template <class T>
  static void store_halves(Reg pairs, T* first, T* second) {
    const __m256i x = _mm256_castps_si256(pairs);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(first), lower_halves(x));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(second), lower_halves(_mm256_srli_epi32(x, 16)));
  }
  static void transpose(Reg* r) {
    __m256 t[8];
#pragma GCC unroll 2
    for (int i = 0; i < 8; i += 4) {
      const __m256 a = _mm256_unpacklo_ps(r[i], r[i + 1]);
      const __m256 b = _mm256_unpackhi_ps(r[i], r[i + 1]);
      const __m256 c = _mm256_unpacklo_ps(r[i + 2], r[i + 3]);
      const __m256 d = _mm256_unpackhi_ps(r[i + 2], r[i + 3]);
      t[i] = _mm256_shuffle_ps(a, c, 0x44);
      t[i + 1] = _mm256_shuffle_ps(a, c, 0xee);
      t[i + 2] = _mm256_shuffle_ps(b, d, 0x44);
      t[i + 3] = _mm256_shuffle_ps(b, d, 0xee);
    }
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      r[j] = _mm256_permute2f128_ps(t[j], t[4 + j], 0x20);
      r[4 + j] = _mm256_permute2f128_ps(t[j], t[4 + j], 0x31);
    }
  }
};

}  // namespace
}  // namespace tw::cpu

#endif  // TILEWRIGHT_GENERATE_CPU_DEVICE_ISA_AVX2_H
