// SPDX-License-Identifier: Apache-2.0
// Moving data between the checker's packed copies and an arena; see strided.h.
#include "verify/strided.h"

#include "verify/ranges.h"

#include <bit>
#include <cstring>

namespace tilewright {
namespace {

Strided packed(std::span<std::byte> bytes, ElementType type, std::int64_t rows, std::int64_t cols,
               std::int64_t batches) {
  return {bytes.data(), type, rows, cols, batches, cols, rows * cols};
}

// The arithmetic of f16 -> f32 on whole words, so that the compiler can vectorise the loop: shift
// the exponent and mantissa into place and repair the bias by a multiplication, which also makes
// subnormals right; only Inf and NaN need a mask.
float widen_f16(std::uint32_t bits) {
  const std::uint32_t shifted = (bits & 0x7fffU) << 13;
  const float scaled = std::bit_cast<float>(shifted) * 0x1p112F;
  const std::uint32_t special = (bits & 0x7c00U) == 0x7c00U ? 0x7f800000U : 0U;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(scaled) | special |
                              (bits & 0x8000U) << 16);
}

std::uint32_t nan_bits(ElementType type, bool negative) {
  switch (type) {
    case ElementType::f16:
      return negative ? 0xfe00U : 0x7e00U;
    case ElementType::bf16:
      return negative ? 0xffc0U : 0x7fc0U;
    case ElementType::f32:
      break;
  }
  return negative ? 0xffc00000U : 0x7fc00000U;
}

}  // namespace

Strided view_a(const Arena& arena, int set) {
  const Problem& p = arena.problem();
  const tw_cpu_gemm_args x =
      arguments(p, arena.layout(), arena.base(), set, Owner::candidate, 1, 0);
  return {arena.a(set).data(), p.in, p.a_rows(), p.a_cols(), p.batch, x.lda, x.stride_a};
}

Strided view_b(const Arena& arena, int set) {
  const Problem& p = arena.problem();
  const tw_cpu_gemm_args x =
      arguments(p, arena.layout(), arena.base(), set, Owner::candidate, 1, 0);
  return {arena.b(set).data(), p.in, p.b_rows(), p.b_cols(), p.batch, x.ldb, x.stride_b};
}

Strided view_c(const Arena& arena, int set, Owner owner) {
  const Problem& p = arena.problem();
  const tw_cpu_gemm_args x = arguments(p, arena.layout(), arena.base(), set, owner, 1, 0);
  return {arena.c(set, owner).data(), p.out, p.c_rows(), p.c_cols(), p.batch, x.ldc, x.stride_c};
}

Strided packed_a(const Problem& p, std::span<std::byte> bytes) {
  return packed(bytes, p.in, p.a_rows(), p.a_cols(), p.batch);
}
Strided packed_b(const Problem& p, std::span<std::byte> bytes) {
  return packed(bytes, p.in, p.b_rows(), p.b_cols(), p.batch);
}
Strided packed_c(const Problem& p, std::span<std::byte> bytes) {
  return packed(bytes, p.out, p.c_rows(), p.c_cols(), p.batch);
}

void put(const Strided& to, std::span<const std::byte> packed) {
  const std::int64_t width = to.row_bytes();
  if (width == 0) return;
  const std::byte* from = packed.data();
  for (std::int64_t b = 0; b < to.batches; ++b) {
    for (std::int64_t r = 0; r < to.rows; ++r, from += width) {
      std::memcpy(to.row(b, r), from, static_cast<std::size_t>(width));
    }
  }
}

std::vector<std::byte> get(const Strided& from) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(from.packed_bytes()));
  const std::int64_t width = from.row_bytes();
  if (width == 0) return bytes;
  std::byte* to = bytes.data();
  for (std::int64_t b = 0; b < from.batches; ++b) {
    for (std::int64_t r = 0; r < from.rows; ++r, to += width) {
      std::memcpy(to, from.row(b, r), static_cast<std::size_t>(width));
    }
  }
  return bytes;
}

bool same(const Strided& matrix, std::span<const std::byte> packed) {
  const std::int64_t width = matrix.row_bytes();
  if (width == 0) return true;
  const std::byte* want = packed.data();
  for (std::int64_t b = 0; b < matrix.batches; ++b) {
    for (std::int64_t r = 0; r < matrix.rows; ++r, want += width) {
      if (std::memcmp(matrix.row(b, r), want, static_cast<std::size_t>(width)) != 0) return false;
    }
  }
  return true;
}

void fill_nan(const Strided& matrix, bool negative) {
  const std::uint32_t bits = nan_bits(matrix.type, negative);
  const std::size_t size = size_of(matrix.type);  // little-endian, as every CPU target here
  for (std::int64_t b = 0; b < matrix.batches; ++b) {
    for (std::int64_t r = 0; r < matrix.rows; ++r) {
      std::byte* row = matrix.row(b, r);
      for (std::int64_t c = 0; c < matrix.cols; ++c, row += size) std::memcpy(row, &bits, size);
    }
  }
}

void widen(ElementType type, const std::byte* from, std::int64_t count, float* to) {
  if (count <= 0) return;
  if (type == ElementType::f32) {
    std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(float));
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint16_t half;  // an operand may start at any even byte, so no uint16_t pointer
    std::memcpy(&half, from + 2 * i, sizeof half);
    to[i] = type == ElementType::f16 ? widen_f16(half)
                                     : std::bit_cast<float>(std::uint32_t{half} << 16);
  }
}

std::vector<float> widen(const Strided& matrix, std::int64_t batch) {
  std::vector<float> values(static_cast<std::size_t>(matrix.rows * matrix.cols));
  const std::int64_t grain = (1 << 18) / (matrix.cols + 1) + 1;
  for_ranges(matrix.rows, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      widen(matrix.type, matrix.row(batch, r), matrix.cols, values.data() + r * matrix.cols);
    }
  });
  return values;
}

double rounded(ElementType type, double value) {
  switch (type) {
    case ElementType::f16:
      return static_cast<double>(f16_to_f32(f64_to_f16(value)));
    case ElementType::bf16:
      return static_cast<double>(bf16_to_f32(f64_to_bf16(value)));
    case ElementType::f32:
      break;
  }
  return static_cast<double>(static_cast<float>(value));
}

}  // namespace tilewright
