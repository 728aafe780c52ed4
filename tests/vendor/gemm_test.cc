// SPDX-License-Identifier: Apache-2.0
// The column-major call means the row-major product: an interpreter of what cuBLAS documents is
// run on random problems beside three row-major loops.
#include "vendor/gemm.h"

#include "base/rng.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace tilewright::vendor {
namespace {

using Values = std::vector<double>;

Problem problem_of(std::string_view text) {
  return parse_problem(text).value();
}

// What cublasGemmStridedBatchedEx(op_left, op_right, m, n, k, ...) computes, literally.
void interpret(const ColumnGemm& g, const double* left, const double* right, double alpha,
               double beta, double* out) {
  for (std::int64_t b = 0; b < g.batch; ++b) {
    for (std::int64_t i = 0; i < g.rows; ++i) {
      for (std::int64_t j = 0; j < g.columns; ++j) {
        double sum = 0;
        for (std::int64_t l = 0; l < g.depth; ++l) {
          const auto at_left = g.op_left == kNoTranspose ? i + l * g.ld_left : l + i * g.ld_left;
          const auto at_right =
              g.op_right == kNoTranspose ? l + j * g.ld_right : j + l * g.ld_right;
          sum += left[b * g.stride_left + at_left] * right[b * g.stride_right + at_right];
        }
        double& cell = out[b * g.stride_out + i + j * g.ld_out];
        cell = alpha * sum + (beta == 0 ? 0 : beta * cell);
      }
    }
  }
}

void multiply(const Problem& p, const BatchStrides& s, const Values& a, const Values& b,
              double alpha, double beta, Values& c) {
  const auto at = [](const Values& v, std::int64_t i) { return v[static_cast<std::size_t>(i)]; };
  for (std::int64_t z = 0; z < p.batch; ++z) {
    for (std::int64_t i = 0; i < p.m; ++i) {
      for (std::int64_t j = 0; j < p.n; ++j) {
        double sum = 0;
        for (std::int64_t l = 0; l < p.k; ++l) {
          const auto in_a = p.a_transposed ? l * p.a_stride() + i : i * p.a_stride() + l;
          const auto in_b = p.b_transposed ? j * p.b_stride() + l : l * p.b_stride() + j;
          sum += at(a, z * s.a + in_a) * at(b, z * s.b + in_b);
        }
        double& cell = c[static_cast<std::size_t>(z * s.c + i * p.c_stride() + j)];
        cell = alpha * sum + (beta == 0 ? 0 : beta * cell);
      }
    }
  }
}

TEST(ColumnGemm, MeansTheRowMajorProduct) {
  Rng rng(7);
  const auto size = [&](std::uint64_t bound) {
    return static_cast<std::int64_t>(1 + rng.below(bound));
  };
  for (int round = 0; round < 200; ++round) {
    Problem p;
    p.m = size(9), p.n = size(9), p.k = size(9), p.batch = size(3);
    p.a_transposed = rng.below(2) != 0, p.b_transposed = rng.below(2) != 0;
    if (rng.below(2) != 0) p.lda = p.a_cols() + size(4);
    if (rng.below(2) != 0) p.ldb = p.b_cols() + size(4);
    if (rng.below(2) != 0) p.ldc = p.n + size(4);
    BatchStrides strides = packed_strides(p);
    strides.a += size(5), strides.b += size(5), strides.c += size(5);
    const auto make = [&](std::int64_t stride) {
      Values values(static_cast<std::size_t>(p.batch * stride));
      for (double& v : values) v = static_cast<double>(rng.below(9)) - 4;  // exact sums
      return values;
    };
    const Values a = make(strides.a), b = make(strides.b);
    Values c = make(strides.c);
    Values expected = c;
    const double beta = static_cast<double>(rng.below(2));
    multiply(p, strides, a, b, 2, beta, expected);
    const ColumnGemm g = column_gemm(p, strides);
    interpret(g, b.data(), a.data(), 2, beta, c.data());
    ASSERT_EQ(c, expected) << to_text(p);
    // A column-major matrix needs ld >= rows: what the library checks.
    EXPECT_GE(g.ld_left, g.left_rows()) << to_text(p);
    EXPECT_GE(g.ld_right, g.right_rows()) << to_text(p);
    EXPECT_GE(g.ld_out, g.rows) << to_text(p);
  }
}

TEST(ColumnGemm, TypesFollowTheProblem) {
  const auto of = [](std::string_view text) {
    const Problem p = problem_of(text);
    return column_gemm(p, packed_strides(p));
  };
  const ColumnGemm plain = of("64x64x64 f16");
  EXPECT_EQ(plain.in, kReal16F);
  EXPECT_EQ(plain.out, kReal16F);
  EXPECT_EQ(plain.compute, kCompute32F);
  EXPECT_EQ(plain.scale, kReal32F);  // 32F compute with a 16F scale is no documented pair
  const ColumnGemm wide = of("64x64x64 bf16 out=f32");
  EXPECT_EQ(wide.in, kReal16BF);
  EXPECT_EQ(wide.out, kReal32F);
  const ColumnGemm half = of("64x64x64 f16 acc=f16");
  EXPECT_EQ(half.compute, kCompute16F);
  EXPECT_EQ(half.scale, kReal16F);
}

TEST(ColumnGemm, SaysWhatTheLibrariesCannot) {
  EXPECT_EQ(why_not(problem_of("64x64x64 f16")), "");
  EXPECT_EQ(why_not(problem_of("63x65x67 bf16 out=f32 lda=99")), "");
  const auto refusal = [](auto change) {
    Problem p = problem_of("64x64x64 f16");
    change(p);
    return why_not(p);
  };
  using testing::HasSubstr;
  EXPECT_THAT(refusal([](Problem& p) { p.k = 0; }), HasSubstr("empty"));
  EXPECT_THAT(refusal([](Problem& p) {
                p.acc = Accumulator::f16;
                p.in = p.out = ElementType::bf16;
              }),
              HasSubstr("acc=f16"));
  EXPECT_THAT(refusal([](Problem& p) {
                p.acc = Accumulator::f16;
                p.out = ElementType::f32;
              }),
              HasSubstr("acc=f16"));
  EXPECT_THAT(refusal([](Problem& p) { p.out = ElementType::bf16; }), HasSubstr("bf16"));
  EXPECT_THAT(refusal([](Problem& p) { p.m = 3'000'000'000; }), HasSubstr("m 3000000000"));
}

TEST(ColumnGemm, PartialSumsStayWide) {
  EXPECT_EQ(math_mode(problem_of("8x8x8 f16")), kNoReducedPrecisionReduction);
  EXPECT_EQ(math_mode(problem_of("8x8x8 f16 acc=f16")), kDefaultMath);
  EXPECT_EQ(allowed_reductions(problem_of("8x8x8 f16")), kReductionComputeType);
  EXPECT_EQ(allowed_reductions(problem_of("8x8x8 bf16")), kReductionComputeType);
  EXPECT_EQ(allowed_reductions(problem_of("8x8x8 f16 out=f32")), kReductionAny);
  EXPECT_EQ(allowed_reductions(problem_of("8x8x8 f16 acc=f16")), kReductionAny);
}

TEST(Scale, IsReadInItsOwnType) {
  float wide = 0;
  std::memcpy(&wide, Scale(kReal32F, 0.5F).pointer(), sizeof wide);
  EXPECT_EQ(wide, 0.5F);
  std::uint16_t half = 0;
  std::memcpy(&half, Scale(kReal16F, 0.5F).pointer(), sizeof half);
  EXPECT_EQ(half, 0x3800);
}

}  // namespace
}  // namespace tilewright::vendor
