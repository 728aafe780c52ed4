// SPDX-License-Identifier: Apache-2.0
// One row loop per instruction set, and the walk over a part of a strided matrix.
#include "baseline/conversion.h"

// GCC 12's own intrinsics start from a value that is undefined on purpose:
// https://gcc.gnu.org/bugzilla/show_bug.cgi?id=105593
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

#include <immintrin.h>
#include <algorithm>
#include <array>

namespace tilewright {
namespace {

// bf16 from f32: add half an ulp of bf16, less one if the kept part is even; NaNs only get quiet.
constexpr int kHalfUlp = 0x7fff;
constexpr int kQuietBit = 0x40;

void widen_f16_scalar(const std::uint16_t* from, float* to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = f16_to_f32(from[i]);
}
void narrow_f16_scalar(const float* from, std::uint16_t* to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = f64_to_f16(from[i]);
}
void widen_bf16_scalar(const std::uint16_t* from, float* to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = bf16_to_f32(from[i]);
}
void narrow_bf16_scalar(const float* from, std::uint16_t* to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = f64_to_bf16(from[i]);
}

__attribute__((target("avx2,f16c"))) void widen_f16_f16c(const std::uint16_t* from, float* to,
                                                         std::int64_t count) {
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(half));
  }
  widen_f16_scalar(from + i, to + i, count - i);
}
__attribute__((target("avx2,f16c"))) void narrow_f16_f16c(const float* from, std::uint16_t* to,
                                                          std::int64_t count) {
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m128i half =
        _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), half);
  }
  narrow_f16_scalar(from + i, to + i, count - i);
}
__attribute__((target("avx2"))) void widen_bf16_avx2(const std::uint16_t* from, float* to,
                                                     std::int64_t count) {
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
    const __m256i bits = _mm256_slli_epi32(_mm256_cvtepu16_epi32(half), 16);
    _mm256_storeu_ps(to + i, _mm256_castsi256_ps(bits));
  }
  widen_bf16_scalar(from + i, to + i, count - i);
}
__attribute__((target("avx2"))) void narrow_bf16_avx2(const float* from, std::uint16_t* to,
                                                      std::int64_t count) {
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m256 value = _mm256_loadu_ps(from + i);
    const __m256i bits = _mm256_castps_si256(value);
    const __m256i kept = _mm256_srli_epi32(bits, 16);
    const __m256i odd = _mm256_and_si256(kept, _mm256_set1_epi32(1));
    const __m256i rounded = _mm256_srli_epi32(
        _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(kHalfUlp))), 16);
    const __m256i quiet = _mm256_or_si256(kept, _mm256_set1_epi32(kQuietBit));
    const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(value, value, _CMP_UNORD_Q));
    const __m256i words = _mm256_blendv_epi8(rounded, quiet, nan);
    const __m256i packed =
        _mm256_permute4x64_epi64(_mm256_packus_epi32(words, words), 0x08);  // lanes 0 and 2
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), _mm256_castsi256_si128(packed));
  }
  narrow_bf16_scalar(from + i, to + i, count - i);
}

__attribute__((target("avx512f"))) void widen_f16_avx512(const std::uint16_t* from, float* to,
                                                         std::int64_t count) {
  std::int64_t i = 0;
  for (; i + 16 <= count; i += 16) {
    const __m256i half = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i));
    _mm512_storeu_ps(to + i, _mm512_cvtph_ps(half));
  }
  widen_f16_scalar(from + i, to + i, count - i);
}
__attribute__((target("avx512f"))) void narrow_f16_avx512(const float* from, std::uint16_t* to,
                                                          std::int64_t count) {
  std::int64_t i = 0;
  for (; i + 16 <= count; i += 16) {
    const __m256i half =
        _mm512_cvtps_ph(_mm512_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i), half);
  }
  narrow_f16_scalar(from + i, to + i, count - i);
}
__attribute__((target("avx512f"))) void widen_bf16_avx512(const std::uint16_t* from, float* to,
                                                          std::int64_t count) {
  std::int64_t i = 0;
  for (; i + 16 <= count; i += 16) {
    const __m256i half = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i));
    const __m512i bits = _mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16);
    _mm512_storeu_ps(to + i, _mm512_castsi512_ps(bits));
  }
  widen_bf16_scalar(from + i, to + i, count - i);
}
__attribute__((target("avx512f"))) void narrow_bf16_avx512(const float* from, std::uint16_t* to,
                                                           std::int64_t count) {
  // Not VCVTNEPS2BF16: it flushes subnormals (Intel SDM), and the bits would depend on the CPU.
  std::int64_t i = 0;
  for (; i + 16 <= count; i += 16) {
    const __m512 value = _mm512_loadu_ps(from + i);
    const __m512i bits = _mm512_castps_si512(value);
    const __m512i kept = _mm512_srli_epi32(bits, 16);
    const __m512i odd = _mm512_and_si512(kept, _mm512_set1_epi32(1));
    const __m512i rounded = _mm512_srli_epi32(
        _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(kHalfUlp))), 16);
    const __m512i quiet = _mm512_or_si512(kept, _mm512_set1_epi32(kQuietBit));
    const __mmask16 nan = _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q);
    const __m512i words = _mm512_mask_blend_epi32(nan, rounded, quiet);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i), _mm512_cvtepi32_epi16(words));
  }
  narrow_bf16_scalar(from + i, to + i, count - i);
}

struct Row {
  ElementType half;
  std::array<std::string_view, 2> needs;  // features of the device
  Conversion conversion;
};
// Fastest first.
constexpr std::array kRows = {
    Row{ElementType::f16, {"avx512f", ""}, {"avx512", widen_f16_avx512, narrow_f16_avx512}},
    Row{ElementType::f16, {"avx2", "f16c"}, {"f16c", widen_f16_f16c, narrow_f16_f16c}},
    Row{ElementType::f16, {"", ""}, {"scalar", widen_f16_scalar, narrow_f16_scalar}},
    Row{ElementType::bf16, {"avx512f", ""}, {"avx512", widen_bf16_avx512, narrow_bf16_avx512}},
    Row{ElementType::bf16, {"avx2", ""}, {"avx2", widen_bf16_avx2, narrow_bf16_avx2}},
    Row{ElementType::bf16, {"", ""}, {"scalar", widen_bf16_scalar, narrow_bf16_scalar}},
};

// Elements are dealt out evenly whatever the shape, so that one long row is shared too.
template <class Visit>
void for_part(std::int64_t rows, std::int64_t cols, int part, int parts, const Visit& visit) {
  const std::int64_t total = rows * cols;
  const std::int64_t share = (total + parts - 1) / parts;
  std::int64_t at = std::min(total, share * part);
  const std::int64_t end = std::min(total, at + share);
  while (at < end) {
    const std::int64_t row = at / cols, col = at % cols;
    const std::int64_t count = std::min(cols - col, end - at);
    visit(row, col, count);
    at += count;
  }
}

}  // namespace

const Conversion& conversion_for(ElementType half, const Device& device) {
  const auto fits = [&](const Row& row) {
    return row.half == half && std::ranges::all_of(row.needs, [&](std::string_view feature) {
             return feature.empty() || device.has(feature);
           });
  };
  return std::ranges::find_if(kRows, fits)->conversion;  // a scalar row fits every device
}

void widen_part(const Conversion& with, const std::uint16_t* from, std::int64_t ld,
                std::int64_t rows, std::int64_t cols, float* to, int part, int parts) {
  if (ld == cols) cols *= rows, ld = cols, rows = 1;  // packed: one long row
  for_part(rows, cols, part, parts, [&](std::int64_t row, std::int64_t col, std::int64_t count) {
    with.widen(from + row * ld + col, to + row * cols + col, count);
  });
}

void narrow_part(const Conversion& with, const float* from, std::int64_t rows, std::int64_t cols,
                 std::uint16_t* to, std::int64_t ld, float beta, int part, int parts) {
  if (ld == cols) cols *= rows, ld = cols, rows = 1;
  constexpr std::int64_t kBlock = 512;
  for_part(rows, cols, part, parts, [&](std::int64_t row, std::int64_t col, std::int64_t count) {
    const float* source = from + row * cols + col;
    std::uint16_t* target = to + row * ld + col;
    if (beta == 0) return with.narrow(source, target, count);
    std::array<float, kBlock> sum;
    for (std::int64_t i = 0; i < count; i += kBlock) {
      const std::int64_t here = std::min(kBlock, count - i);
      with.widen(target + i, sum.data(), here);
      for (std::int64_t j = 0; j < here; ++j) {
        const auto at = static_cast<std::size_t>(j);
        sum[at] = source[i + j] + beta * sum[at];
      }
      with.narrow(sum.data(), target + i, here);
    }
  });
}

}  // namespace tilewright
