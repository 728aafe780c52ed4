// SPDX-License-Identifier: Apache-2.0
// The references of the general operations against plain formulas, and that what is off by more
// than arithmetic explains is seen.
#include "verify/operation.h"

#include "base/rng.h"
#include "verify/honest.h"

#include <cmath>

namespace tilewright {
namespace {

// Operands with a C that holds each right result, rounded once.
struct Right {
  Problem problem;
  Operands data;
  std::vector<std::byte> c;

  explicit Right(const std::string& text, DataKind kind = DataKind::normal)
      : problem(problem_of(text)), data(draw(problem, kind, 5)) {
    const Reference reference = tilewright::reference(problem, a(), b(), whole(problem), true, 1);
    EXPECT_TRUE(reference.full);
    c.resize(static_cast<std::size_t>(problem.c_rows() * problem.c_cols()) * size_of(problem.out));
    const Strip& strip = reference.strips.front();
    for (std::size_t i = 0; i < strip.sum.size(); ++i) {
      store(problem.out, c.data(), static_cast<std::int64_t>(i), strip.sum[i]);
    }
  }
  Strided a() { return packed_a(problem, data.a); }
  Strided b() { return packed_b(problem, data.b); }
  double got(std::int64_t i) { return load(problem.out, c.data(), i); }
  double in_a(std::int64_t i) { return load(problem.in, data.a.data(), i); }
  double in_b(std::int64_t i) { return load(problem.in, data.b.data(), i); }
  bool agrees() {
    return !compare_by_rows(problem, a(), b(), packed_c(problem, c),
                            is_exact(DataKind::normal, problem))
                .first;
  }
};

TEST(Operation, ReferencesAreThePlainFormulas) {
  Right soft("softmax 3x17 f16 out=f32");
  double sum = 0;
  for (int j = 0; j < 17; ++j) sum += std::exp(soft.in_a(17 + j));
  EXPECT_NEAR(soft.got(17 + 4), std::exp(soft.in_a(17 + 4)) / sum, 1e-7);

  Right norm("layernorm 2x9 f16 out=f32");
  double mean = 0, variance = 0;
  for (int j = 0; j < 9; ++j) mean += norm.in_a(9 + j) / 9;
  for (int j = 0; j < 9; ++j) variance += std::pow(norm.in_a(9 + j) - mean, 2) / 9;
  EXPECT_NEAR(
      norm.got(9 + 3),
      (norm.in_a(9 + 3) - mean) / std::sqrt(variance + 1e-5) * norm.in_b(3) + norm.in_b(9 + 3),
      1e-6);

  Right total("reduce 2x9 bf16 out=f32");
  double all = 0;
  for (int j = 0; j < 9; ++j) all += total.in_a(9 + j);
  EXPECT_NEAR(total.got(1), all, 1e-5);

  Right turned("transpose 3x5 bf16");
  EXPECT_EQ(turned.got(4 * 3 + 2), turned.in_a(2 * 5 + 4));

  Right silu("map 1x5 f16 out=f32 fn=silu");
  EXPECT_NEAR(silu.got(2), silu.in_a(2) / (1 + std::exp(-silu.in_a(2))), 1e-6);
}

TEST(Operation, AConvolutionIsTheSumUnderTheFilter) {
  Right conv("conv2d 2x5x4x3 3x2x6 f16 out=f32 stride=2 pad=1");
  const Convolution& v = conv.problem.conv;
  for (std::int64_t row = 0; row < conv.problem.m; ++row) {
    const std::int64_t image = row / (v.out_height() * v.out_width());
    const std::int64_t y = row / v.out_width() % v.out_height(), x = row % v.out_width();
    for (std::int64_t f = 0; f < conv.problem.n; ++f) {
      double want = 0;
      for (std::int64_t i = 0; i < 3; ++i) {
        for (std::int64_t j = 0; j < 2; ++j) {
          const std::int64_t yy = y * 2 - 1 + i, xx = x * 2 - 1 + j;
          if (yy < 0 || yy >= 5 || xx < 0 || xx >= 4) continue;
          for (std::int64_t ch = 0; ch < 3; ++ch) {
            want += conv.in_a(((image * 5 + yy) * 4 + xx) * 3 + ch) *
                    conv.in_b(((i * 2 + j) * 3 + ch) * 6 + f);
          }
        }
      }
      EXPECT_NEAR(conv.got(row * conv.problem.n + f), want, 1e-5);
    }
  }
}

TEST(Operation, ARoundedReferenceAgreesAndANeighbourDoesNot) {
  for (const char* text : {"softmax 5x40 f16", "softmax 5x40 bf16", "layernorm 5x40 f16",
                           "reduce 5x40 f16 fn=sum", "reduce 5x40 bf16 fn=max",
                           "map 5x40 f16 fn=gelu", "map 5x40 f16 fn=relu", "transpose 5x40 f16"}) {
    Right right(text);
    EXPECT_TRUE(right.agrees()) << text;
    // Two units in the last place are more than any order of f32 sums explains here.
    auto* bits = reinterpret_cast<std::uint16_t*>(right.c.data());
    bits[3] = static_cast<std::uint16_t>(bits[3] + 2);
    EXPECT_FALSE(right.agrees()) << text;
  }
}

// A large reduction is sampled in its reference and seen as a whole in the comparison.
TEST(Operation, WhatIsNotSampledIsComparedToo) {
  const Problem p = problem_of("reduce 40000x128 f16 fn=max");
  Operands data = draw(p, DataKind::normal, 3);
  const Strided a = packed_a(p, data.a), b = packed_b(p, data.b);
  const Reference reference = tilewright::reference(p, a, b, whole(p), true, 1);
  EXPECT_FALSE(reference.full);
  EXPECT_EQ(reference.strips.front().rows.front(), 0);
  EXPECT_EQ(reference.strips.front().rows.back(), p.m - 1);
  std::vector<double> want(static_cast<std::size_t>(p.m));
  std::vector<float> magnitude(want.size());
  compute_rows(p, a, b, whole(p), 0, p.m, want.data(), magnitude.data());
  std::vector<std::byte> c(want.size() * 2);
  for (std::size_t i = 0; i < want.size(); ++i) {
    store(p.out, c.data(), static_cast<std::int64_t>(i), want[i]);
  }
  EXPECT_FALSE(compare_by_rows(p, a, b, packed_c(p, c), true).first);
  store(p.out, c.data(), 1234, 0.5);
  const auto first = compare_by_rows(p, a, b, packed_c(p, c), true).first;
  ASSERT_TRUE(first);
  EXPECT_EQ(first->row, 1234);
}

TEST(Operation, KindsOfData) {
  EXPECT_FALSE(applies(DataKind::split_k, problem_of("softmax 8x64 f16")));
  EXPECT_FALSE(applies(DataKind::large, problem_of("layernorm 8x64 bf16")));
  EXPECT_TRUE(is_exact(DataKind::normal, problem_of("transpose 8x64 bf16")));
  EXPECT_TRUE(is_exact(DataKind::signs, problem_of("reduce 8x64 f16 fn=sum")));
  EXPECT_FALSE(is_exact(DataKind::normal, problem_of("reduce 8x64 f16 fn=sum")));
  EXPECT_FALSE(is_exact(DataKind::signs, problem_of("softmax 8x64 f16")));
  EXPECT_TRUE(is_exact(DataKind::signs, problem_of("conv2d 1x4x4x3 3x3x2 f16")));
}

}  // namespace
}  // namespace tilewright
