// SPDX-License-Identifier: Apache-2.0
// The n-gram rival: legal, normalised, and it learns what it is shown.
#include "learn/ngram.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace tilewright {
namespace {

Device processor() {
  Device device;
  device.isa = {"avx2", "f16c", "fma"};
  device.cores = 4;
  return device;
}

Prompt prompt(std::string_view text) {
  return {.problem = parse_problem(text).value(), .device = processor()};
}

TEST(Ngram, WritesLegalProgramsAndLearnsThem) {
  const Prompt small = prompt("gemm 96x64x128 f16 acc=f32 nn");
  const TokenMask mask(small.problem, small.device);
  Rng rng(2);
  const Program liked = program_of(*draw_text(mask, false, rng)).value();
  NgramModel model;
  const std::vector<TextRequest> requests = {{encode(small), &mask, false, 200},
                                             {encode(small), &mask, true, 50}};
  const auto share = [&] {
    double found = 0;
    const auto texts = model.sample(requests, {}).value();
    EXPECT_EQ(texts.size(), 250u);
    for (const SampledText& text : texts) {
      EXPECT_TRUE(is_legal(text.program, small.problem, small.device));
      EXPECT_LE(text.log_probability(), 0);
      if (text.request == 0 && text.program == liked) ++found;
    }
    return found / 200;
  };
  EXPECT_LT(share(), 0.05);
  for (int i = 0; i < 300; ++i) model.learn(learning_text(small, std::nullopt, liked));
  EXPECT_GT(share(), 0.3);
}

TEST(Ngram, TheTaskDecidesAndProbabilitiesAddUp) {
  const Prompt one = prompt("gemm 96x64x128 f16 acc=f32 nn");
  const Prompt other = prompt("gemm 4096x4096x4096 bf16 acc=f32 nn");
  const std::vector<int> legal = {*find_word("isa=avx2"), *find_word("isa=scalar")};
  NgramModel model;
  const auto learn = [&](const Prompt& about, const char* isa) {
    LearningText text{.tokens = encode(about), .own = 0};
    text.tokens.push_back(opening(false));
    text.own = text.tokens.size();
    text.tokens.push_back(*find_word("cpu"));
    text.tokens.push_back(*find_word(isa));
    for (int i = 0; i < 20; ++i) model.learn(text);
  };
  learn(one, "isa=avx2");
  learn(other, "isa=scalar");
  const std::vector<int> written = {*find_word("cpu")};
  for (const Prompt& about : {one, other}) {
    for (const double temperature : {0.5, 1.0, 2.0}) {
      const auto log_p = model.log_probabilities(encode(about), false, written, legal, temperature);
      EXPECT_NEAR(std::exp(log_p[0]) + std::exp(log_p[1]), 1, 1e-12);
      EXPECT_EQ(log_p[0] > log_p[1], about.problem.m == 96);
    }
  }
}

}  // namespace
}  // namespace tilewright
