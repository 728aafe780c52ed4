// SPDX-License-Identifier: Apache-2.0
// Texts and checks of the operations besides gemm.
#include "problem/operations.h"

#include "problem/suite.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace tilewright {
namespace {

TEST(Operations, TextsAreReadAndPrintedBack) {
  struct Case {
    const char* text;
    const char* canonical;
  };
  constexpr Case kCases[] = {
      {"softmax 1024x512", "softmax 1024x512 f16"},
      {"softmax 4x8 bf16 out=f32 lda=9 ldc=10", "softmax 4x8 bf16 out=f32 lda=9 ldc=10"},
      {"reduce 3x7 f16", "reduce 3x7 f16 fn=sum"},
      {"reduce 3x7 fn=max bf16", "reduce 3x7 bf16 fn=max"},
      {"map 3x7", "map 3x7 f16 fn=relu"},
      {"map 3x7 fn=silu", "map 3x7 f16 fn=silu"},
      {"transpose 3x7 f16 ldc=4", "transpose 3x7 f16 ldc=4"},
      {"layernorm 3x7 f16 ldb=8", "layernorm 3x7 f16 ldb=8"},
      {"conv2d 2x9x11x24 3x2x40 bf16 pad=1 stride=2",
       "conv2d 2x9x11x24 3x2x40 bf16 stride=2 pad=1"},
      {"gemm 1x2x3", "gemm 1x2x3 f16 acc=f32 nn"},
  };
  for (const Case& c : kCases) {
    const auto problem = parse_problem(c.text);
    ASSERT_TRUE(problem) << problem.error().message;
    EXPECT_EQ(to_text(*problem), c.canonical);
    EXPECT_EQ(parse_problem(c.canonical).value(), *problem);
    EXPECT_TRUE(check(*problem));
  }
}

TEST(Operations, WrongTextsAreRefusedWithTheReason) {
  struct Case {
    const char* text;
    const char* part;
  };
  constexpr Case kCases[] = {
      {"softmax", "sizes are missing"},
      {"softmax 4x8x9", "is not 2 sizes: rows x columns"},
      {"softmax 4x0", "a size is 0"},
      {"softmax 4xq", "columns='q' is not a whole number"},
      {"softmax 4x8 nn", "'nn' is not a word of a softmax"},
      {"softmax 4x8 fn=sum", "'fn=sum' is not a word of a softmax"},
      {"softmax 4x8 lda=7", "lda=7 is less than the 8 columns of A"},
      {"softmax 4x8 ldb=9", "'ldb=9' is not a word"},
      {"reduce 4x8 fn=gelu", "fn='gelu' is none of sum, max"},
      {"map 4x8 fn=relu fn=gelu", "a second time"},
      {"transpose 4x8 f16 out=f32", "a transpose keeps its type"},
      {"transpose 4x8 f16 ldc=3", "ldc=3 is less than the 4 columns of C"},
      {"conv2d 1x8x8x3", "sizes are missing"},
      {"conv2d 1x8x8 3x3x4", "is not 4 sizes: images x height x width x channels"},
      {"conv2d 1x8x8x3 9x3x4", "the filter, 9x3, is larger"},
      {"conv2d 1x8x8x3 3x3x4 pad=3", "pad=3 is not less than the filter"},
      {"conv2d 1x8x8x3 3x3x4 stride=0", "stride=0: at least 1"},
      {"conv2d 1x1048577x8x3 3x3x4", "above 2^20"},
      {"pool 4x8", "is not three sizes"},
  };
  for (const Case& c : kCases) {
    const auto problem = parse_problem(c.text);
    ASSERT_FALSE(problem) << c.text;
    EXPECT_NE(problem.error().message.find(c.part), std::string::npos)
        << c.text << ": " << problem.error().message;
  }
}

TEST(Operations, ShapesFollowFromTheOperation) {
  const Problem turned = parse_problem("transpose 3x7 f16").value();
  EXPECT_EQ(turned.c_rows(), 7);
  EXPECT_EQ(turned.c_cols(), 3);
  EXPECT_EQ(turned.b_rows() * turned.b_cols(), 0);
  const Problem norm = parse_problem("layernorm 3x7 f16").value();
  EXPECT_EQ(norm.b_rows(), 2);
  EXPECT_EQ(norm.b_cols(), 7);
  EXPECT_EQ(norm.flop(), 8 * 21);
  EXPECT_EQ(norm.bytes(), 2 * (21 + 14 + 21));
  const Problem sum = parse_problem("reduce 3x7 f16").value();
  EXPECT_EQ(sum.c_stride(), 1);
  const Problem conv = parse_problem("conv2d 2x9x11x24 3x2x40 bf16 stride=2 pad=1").value();
  EXPECT_EQ(conv.conv.out_height(), 5);
  EXPECT_EQ(conv.conv.out_width(), 6);
  EXPECT_EQ(conv.m, 2 * 5 * 6);
  EXPECT_EQ(conv.n, 40);
  EXPECT_EQ(conv.k, 3 * 2 * 24);
  EXPECT_EQ(conv.a_rows(), 2 * 9 * 11);
  EXPECT_EQ(conv.a_cols(), 24);
  EXPECT_EQ(conv.flop(), 2.0 * 60 * 40 * 144);
}

TEST(Operations, CheckRefusesWhatNoTextSays) {
  Problem p = parse_problem("softmax 3x7 f16").value();
  p.beta = BetaClass::one;
  EXPECT_FALSE(check(p));
  p = parse_problem("softmax 3x7 f16").value();
  p.k = 2;
  EXPECT_FALSE(check(p));
  p = parse_problem("conv2d 1x8x8x3 3x3x4").value();
  ++p.m;
  EXPECT_FALSE(check(p));
}

TEST(Operations, SuitesHoldThem) {
  const auto one = read_suite("softmax 4x8 bf16");
  ASSERT_TRUE(one) << one.error().message;
  ASSERT_EQ(one->entries.size(), 1U);
  EXPECT_EQ(to_text(one->entries[0].problem), "softmax 4x8 bf16");
  const auto all = read_suite("@general");
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_TRUE(all->bad.empty() && all->notes.empty());
  std::map<Op, int> counts;
  for (const SuiteEntry& entry : all->entries) ++counts[entry.problem.op];
  EXPECT_EQ(counts.size(), operations().size() - 1);
  for (const auto& [op, count] : counts) EXPECT_EQ(count, 8) << operation_of(op).name;
  const auto again = parse_csv(to_csv(*all), "again");
  ASSERT_TRUE(again && again->bad.empty());
  ASSERT_EQ(again->entries.size(), all->entries.size());
  for (std::size_t i = 0; i < all->entries.size(); ++i) {
    EXPECT_EQ(again->entries[i].problem, all->entries[i].problem);
  }
  const auto bad = parse_csv("problem\nsoftmax 4\n", "bad");
  ASSERT_TRUE(bad);
  EXPECT_EQ(bad->bad.size(), 1U);
}

}  // namespace
}  // namespace tilewright
