// SPDX-License-Identifier: Apache-2.0
// See gemm.h.
#include "vendor/gemm.h"

#include "base/element.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <limits>

namespace tilewright::vendor {
namespace {

DataType type_of(ElementType type) {
  constexpr std::array kTypes = {kReal16F, kReal16BF, kReal32F};  // in the order of ElementType
  return kTypes[static_cast<std::size_t>(type)];
}

Operation operation(bool transposed) {
  return transposed ? kTranspose : kNoTranspose;
}

}  // namespace

BatchStrides packed_strides(const Problem& p) {
  return {p.a_rows() * p.a_stride(), p.b_rows() * p.b_stride(), p.m * p.c_stride()};
}

std::string why_not(const Problem& p) {
  if (!p.is_gemm()) return "it multiplies matrices only";
  if (p.m == 0 || p.n == 0 || p.k == 0 || p.batch == 0) {
    return "the product is empty: nothing to compute";
  }
  if (p.acc == Accumulator::f16 && (p.in != ElementType::f16 || p.out != ElementType::f16)) {
    return fmt::format("acc=f16 needs f16 operands and result, not {} and {}", name_of(p.in),
                       name_of(p.out));
  }
  if (p.out != p.in && p.out != ElementType::f32) {
    return fmt::format("cuBLAS has no product of {} with a result in {}", name_of(p.in),
                       name_of(p.out));
  }
  struct Size {
    std::string_view name;
    std::int64_t value;
  };
  const std::array sizes = {Size{"m", p.m},
                            Size{"n", p.n},
                            Size{"k", p.k},
                            Size{"batch", p.batch},
                            Size{"lda", p.a_stride()},
                            Size{"ldb", p.b_stride()},
                            Size{"ldc", p.c_stride()}};
  for (const Size& size : sizes) {
    if (size.value > std::numeric_limits<int>::max()) {
      return fmt::format("{} {} does not fit the 32 bits of the call", size.name, size.value);
    }
  }
  return {};
}

ColumnGemm column_gemm(const Problem& p, const BatchStrides& strides) {
  const bool half_sums = p.acc == Accumulator::f16;
  return {.op_left = operation(p.b_transposed),
          .op_right = operation(p.a_transposed),
          .rows = p.n,
          .columns = p.m,
          .depth = p.k,
          .ld_left = p.b_stride(),
          .ld_right = p.a_stride(),
          .ld_out = p.c_stride(),
          .batch = p.batch,
          .stride_left = strides.b,
          .stride_right = strides.a,
          .stride_out = strides.c,
          .in = type_of(p.in),
          .out = type_of(p.out),
          .compute = half_sums ? kCompute16F : kCompute32F,
          .scale = half_sums ? kReal16F : kReal32F};
}

Scale::Scale(DataType type, float value) {
  if (type == kReal32F) {
    std::memcpy(bytes_, &value, sizeof value);
    return;
  }
  const std::uint16_t half = f64_to_f16(static_cast<double>(value));
  std::memcpy(bytes_, &half, sizeof half);
}

MathMode math_mode(const Problem& p) {
  return p.acc == Accumulator::f32 ? kNoReducedPrecisionReduction : kDefaultMath;
}

std::uint32_t allowed_reductions(const Problem& p) {
  const bool output_is_wide = p.out == ElementType::f32;
  if (p.acc == Accumulator::f16 || output_is_wide) return kReductionAny;
  return kReductionComputeType;  // and, always, no reduction at all
}

}  // namespace tilewright::vendor
