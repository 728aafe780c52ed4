// SPDX-License-Identifier: Apache-2.0
// What a run has chosen, from invented trials.
#include "cli/chosen.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

Trial trial(const char* program, double us, double lt_us, const char* algorithm,
            double cublas_us = 4) {
  Trial made;
  made.problem = "gemm 8x8x8 f16 acc=f32 nn";
  made.program = program;
  made.outcome = Outcome::ok;
  made.stage = "final";
  made.time_us = us;
  made.baselines["cublaslt_autotune"] = {.time_us = lt_us, .algorithm = algorithm};
  made.baselines["cublas"] = {.time_us = cublas_us};
  return made;
}

TEST(EarlierChoice, EachSideHasItsFastest) {
  const auto chosen = chosen_in({trial("slow", 3, 1, "a"), trial("fast", 2, 2, "b")});
  ASSERT_TRUE(chosen);
  EXPECT_EQ(chosen->program, "fast");
  ASSERT_EQ(chosen->algorithms.size(), 1U) << "cuBLAS has no choice";
  EXPECT_EQ(chosen->algorithms.at("cublaslt_autotune"), "a");
}

// The second card is a quarter faster than the first.
TEST(EarlierChoice, RunsOnTwoCardsCompareByWhatBothHaveTimed) {
  const auto chosen =
      chosen_in({trial("better", 4, 4, "better", 8), trial("worse", 3.5, 3.6, "worse", 6)});
  ASSERT_TRUE(chosen);
  EXPECT_EQ(chosen->program, "better");
  EXPECT_EQ(chosen->algorithms.at("cublaslt_autotune"), "better");
  Trial alone = trial("alone", 3, 5, "alone");
  alone.baselines.erase("cublas");
  EXPECT_EQ(chosen_in({trial("other", 4, 4, "other"), alone})->program, "alone");
}

// Lucky once, then timed again: the luck is forgotten, on both sides.
TEST(EarlierChoice, TheNewestTimeOfEachCounts) {
  Trial lucky = trial("lucky", 1, 1, "lucky");
  Trial again = trial("lucky", 3, 3, "lucky");
  Trial steady = trial("steady", 2, 2, "steady");
  lucky.unix_ms = 1, again.unix_ms = 3, steady.unix_ms = 2;
  for (const std::vector<Trial>& order :
       {std::vector{lucky, steady, again}, std::vector{again, steady, lucky}}) {
    const auto chosen = chosen_in(order);
    ASSERT_TRUE(chosen);
    EXPECT_EQ(chosen->program, "steady");
    EXPECT_EQ(chosen->algorithms.at("cublaslt_autotune"), "steady");
  }
  EXPECT_EQ(chosen_in({lucky, steady})->program, "lucky");
  Trial served = again;
  served.policy = "served: nearest";
  EXPECT_EQ(chosen_in({lucky, steady, served})->program, "lucky") << "a bundle's kernel is another";
}

TEST(EarlierChoice, OnlyProvenProgramsOfOurOwnThatWereTimedInFull) {
  Trial screened = trial("screened", 0.1, 0.1, "screened");
  screened.stage = "screen";
  Trial wrong = trial("wrong", 0.1, 0.1, "wrong");
  wrong.outcome = Outcome::wrong;
  Trial foreign = trial("source:00ff", 0.1, 1, "library");
  Trial served = trial("served", 0.1, 2, "served");
  served.policy = "served: nearest";
  EXPECT_FALSE(chosen_in({}));
  EXPECT_FALSE(chosen_in({screened, wrong, foreign, served}));
  const auto chosen = chosen_in({screened, wrong, foreign, served, trial("ours", 5, 5, "")});
  ASSERT_TRUE(chosen);
  EXPECT_EQ(chosen->program, "ours");
  EXPECT_EQ(chosen->algorithms.at("cublaslt_autotune"), "library")
      << "the vendor's side is the vendor's, whoever ran beside it";
}

}  // namespace
}  // namespace tilewright
