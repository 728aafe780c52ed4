// SPDX-License-Identifier: Apache-2.0
// The numbers of a summary, worked by hand from invented trials.
#include "report/report.h"

#include "report/invented_trials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tilewright {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

const RatioSummary* find(const std::vector<RatioSummary>& all, const char* baseline,
                         const char* group) {
  for (const RatioSummary& r : all) {
    if (r.baseline == baseline && r.group == group) return &r;
  }
  return nullptr;
}

TEST(Summary, CountsProblemsTrialsAndOutcomes) {
  const Summary summary = summarize(invented_winners(), invented_trials());
  EXPECT_EQ(summary.problems, 6);
  EXPECT_EQ(summary.trials, 8);
  EXPECT_THAT(summary.outcomes, ElementsAre(Pair("crash", 1), Pair("ok", 5), Pair("wrong", 2)));
  EXPECT_THAT(summary.without_winner, ElementsAre("gemm 7x7x7 bf16 acc=f32 nn"));
  EXPECT_EQ(summary.programs.size(), 5u);
  EXPECT_EQ(summary.programs.at("gemm 64x64x64 f16 acc=f32 nn"),
            "cpu isa=avx512 form=direct threads=2");
}

TEST(Summary, RatiosPerBaselineAndDtype) {
  const Summary summary = summarize(invented_winners(), {});
  const RatioSummary* f16 = find(summary.ratios, "openblas", "f16");
  ASSERT_NE(f16, nullptr);
  EXPECT_EQ(f16->problems, 2);
  EXPECT_EQ(f16->wins, 2);
  EXPECT_NEAR(f16->geomean, std::sqrt(4 * 1.25), 1e-12);
  EXPECT_NEAR(f16->median, (4 + 1.25) / 2, 1e-12);
  EXPECT_EQ(f16->worst, 1.25);
  EXPECT_EQ(f16->worst_problem, "gemm 1024x1024x1024 f16 acc=f32 nn");
  EXPECT_TRUE(f16->headline);
  ASSERT_NE(find(summary.ratios, "reference", "f16"), nullptr);
  EXPECT_FALSE(find(summary.ratios, "reference", "f16")->headline);
  EXPECT_NE(find(summary.ratios, "onednn", "bf16 out=f32"), nullptr);
  EXPECT_EQ(find(summary.ratios, "openblas", "bf16"), nullptr) << "was never compared";
}

TEST(Summary, TheFastestHeadlineBaselineIsTheBar) {
  const Summary summary = summarize(invented_winners(), {});
  ASSERT_EQ(summary.ratios.front().baseline, "fastest") << "comes first";
  const RatioSummary* all = find(summary.ratios, "fastest", "all");
  ASSERT_NE(all, nullptr);
  EXPECT_EQ(all->problems, 4);
  EXPECT_EQ(all->wins, 1);
  EXPECT_EQ(all->losses, 1);
  EXPECT_EQ(all->same, 1);
  EXPECT_EQ(all->ambiguous, 1);
  EXPECT_EQ(all->worst, 0.5);
  EXPECT_NEAR(all->geomean, std::pow(2 * 0.5 * 1.004 * 1.03, 0.25), 1e-12);
  EXPECT_NEAR(all->median, (1.004 + 1.03) / 2, 1e-12);
}

TEST(Summary, DecadesOfFlop) {
  const Summary summary = summarize(invented_winners(), {});
  std::vector<std::string> groups;
  for (const RatioSummary& r : summary.decades) groups.push_back(r.group);
  // 2*64^3 = 5.2e5; 2*4096^2 = 3.4e7; 2*1024^3 = 2.1e9 and 128 times 3.4e7 = 4.3e9.
  EXPECT_THAT(groups, ElementsAre("1e5", "1e7", "1e9"));
  EXPECT_EQ(summary.decades.back().problems, 2);
  EXPECT_EQ(summary.decades.back().losses, 1);
}

// An honest report: the words of the measurement decide, whatever the ratio says.
TEST(Summary, AHighRatioWithoutAVerdictIsNoWin) {
  for (const char* word : {"ambiguous", "", "FASTER", "unheard-of"}) {
    const Summary summary =
        summarize({invented("64x64x64", 1, {{"onednn", compared(3, word, 1)}})}, {});
    EXPECT_EQ(summary.ratios.front().wins, 0) << word;
    EXPECT_EQ(summary.ratios.front().ambiguous, 1) << word;
  }
}

TEST(Summary, ATieCountsAsSameAndInTheMean) {
  const Summary summary =
      summarize({invented("64x64x64", 1, {{"onednn", compared(1.009, "same", 1)}})}, {});
  EXPECT_EQ(summary.ratios.front().same, 1);
  EXPECT_EQ(summary.ratios.front().wins, 0);
  EXPECT_NEAR(summary.ratios.front().geomean, 1.009, 1e-12);
}

TEST(Summary, TwoAndAHalfCancel) {
  const Summary summary = summarize({invented("64x64x64", 1, {{"b", compared(2, "faster", 1)}}),
                                     invented("64x64x65", 1, {{"b", compared(0.5, "slower", 1)}})},
                                    {});
  EXPECT_NEAR(summary.ratios.front().geomean, 1, 1e-12);
}

TEST(Summary, WhatWasNotComparedIsNotCounted) {
  for (const double ratio : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(),
                             std::numeric_limits<double>::infinity()}) {
    const Summary summary =
        summarize({invented("64x64x64", 1, {{"onednn", {.time_us = 5, .ratio = ratio}}})}, {});
    EXPECT_THAT(summary.ratios, IsEmpty()) << ratio;
    EXPECT_THAT(summary.decades, IsEmpty()) << ratio;
  }
}

TEST(Summary, AWinnerThatIsNotOkIsNoWinner) {
  std::vector<Trial> winners = invented_winners();
  winners[0].outcome = Outcome::noisy;
  const Summary summary = summarize(winners, winners);
  EXPECT_THAT(summary.without_winner, ElementsAre("gemm 64x64x64 f16 acc=f32 nn"));
  EXPECT_EQ(find(summary.ratios, "fastest", "all")->wins, 0);
}

TEST(Summary, AProblemOfNoWorkAndOneThatDoesNotParse) {
  const Summary summary =
      summarize({invented("gemm 64x64x0 f16 acc=f32 nn", 1, {{"b", compared(1, "same", 1)}}),
                 invented("no problem at all", 1, {{"b", compared(1, "same", 1)}})},
                {});
  ASSERT_EQ(summary.decades.size(), 1u);
  EXPECT_EQ(summary.decades.front().group, "0");
  EXPECT_NE(find(summary.ratios, "b", "unknown"), nullptr);
}

TEST(Summary, OfNothingIsEmpty) {
  const Summary summary = summarize({}, {});
  EXPECT_EQ(summary.problems, 0);
  EXPECT_THAT(summary.ratios, IsEmpty());
}

// A tie has to be known: to 1 % either side, or by an interval that lies above 1 as a whole.
TEST(Summary, CountsWhoIsLevelBeyondDoubtAndWhoIsFarBehind) {
  struct Case {
    double low, ratio, high;
    int level, behind;
  };
  for (const Case& c :
       {Case{0.985, 0.99, 0.995, 1, 0}, Case{0.985, 0.989, 0.995, 0, 0},
        Case{0.97, 1.0, 1.03, 0, 0}, Case{1.001, 1.05, 1.2, 1, 0}, Case{0.99, 1.05, 1.2, 0, 0},
        Case{0.94, 0.949, 0.955, 0, 1}, Case{0.2, 0.95, 3, 0, 0}, Case{0, 1, 0, 0, 0}}) {
    SCOPED_TRACE(c.ratio);
    Trial trial = invented_winners().front();
    trial.baselines = {{"openblas",
                        {.time_us = 1,
                         .ratio_low = c.low,
                         .ratio = c.ratio,
                         .ratio_high = c.high,
                         .comparison = "ambiguous"}}};
    const Summary summary = summarize({trial}, {});
    EXPECT_EQ(summary.ratios.front().level, c.level);
    EXPECT_EQ(summary.ratios.front().behind, c.behind);
  }
}

}  // namespace
}  // namespace tilewright
