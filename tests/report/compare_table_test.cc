// SPDX-License-Identifier: Apache-2.0
// Our times beside a table of someone else's.
#include "report/compare_table.h"

#include "report/invented_suite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilewright {
namespace {

using ::testing::HasSubstr;

const std::vector<std::string> kKeys = {"m", "n", "k"};
constexpr const char* kText =
    "# someone's\nm,n,k,cublas_nn,lt_auto_nn,lt_heur_tn,lt_nn,note\r\n"
    "64,128,256,5,2,2,1,a word\n4096,4096,4096,200,,1,1,\n1,1,1,1,1,1,1,1\n";

SuiteReport invented_report() {
  return suite_report("invented", invented_suite(), invented_suite_trials());
}

TEST(CompareTable, FindsTheColumnsThatAreOurs) {
  const auto table = read_number_table(kText, "theirs.csv");
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->rows.size(), 3U);
  const auto matches = guess_matches(*table, invented_report());
  ASSERT_EQ(matches.size(), 3U) << "lt_nn begins three names";
  EXPECT_EQ(matches[0].ours, "cublas");
  EXPECT_EQ(matches[2].ours, "lt_heuristic");
  EXPECT_EQ(matches[2].headline, "tn");
}

TEST(CompareTable, MediansPerDecadeAndOutliers) {
  const SuiteReport report = invented_report();
  const auto table = read_number_table(kText, "theirs.csv");
  const auto comparison = compare_with(report, *table, kKeys, guess_matches(*table, report));
  ASSERT_TRUE(comparison) << comparison.error().message;
  EXPECT_EQ(comparison->unmatched, 1);
  ASSERT_EQ(comparison->ratios.size(), 7U);
  const TableRatio& all = comparison->ratios[2];
  EXPECT_EQ(all.group, "all");
  EXPECT_EQ(all.shapes, 2);
  EXPECT_DOUBLE_EQ(all.median, (1 + 1.2) / 2) << "5/5 and 240/200";
  ASSERT_EQ(comparison->outliers.size(), 1U);
  EXPECT_EQ(comparison->outliers[0].match.theirs, "lt_auto_nn");
  EXPECT_DOUBLE_EQ(comparison->outliers[0].ours_us, 3);
  for (const Format format :
       {Format::human, Format::md, Format::csv, Format::json, Format::jsonl}) {
    EXPECT_THAT(render_comparison(*comparison, format, {}), HasSubstr("lt_auto_nn"));
  }
}

TEST(CompareTable, MistakesAreNamed) {
  const SuiteReport report = invented_report();
  const auto table = read_number_table(kText, "theirs.csv");
  const auto no_key = compare_with(report, *table, {"M", "n", "k"}, {});
  ASSERT_FALSE(no_key);
  EXPECT_THAT(no_key.error().message, HasSubstr("'M'"));
  EXPECT_FALSE(compare_with(report, *table, {"m"}, {}));
  EXPECT_FALSE(compare_with(report, *table, kKeys, {{"nowhere", "nn", "cublas"}}));
  for (const char* text : {"", "a", "=nn.b", "a=nn", "a=.b", "a=nn."}) {
    EXPECT_FALSE(parse_match(text)) << text;
  }
  const auto match = parse_match("x=best.wall_ours");
  ASSERT_TRUE(match);
  EXPECT_EQ(match->theirs + match->headline + match->ours, "xbestwall_ours");
  EXPECT_FALSE(read_number_table("", "empty.csv"));
  EXPECT_FALSE(read_number_table("a,b\n1\n", "short.csv"));
}

TEST(CompareTable, TwoTypesOfOneShapeAreRefused) {
  std::vector<Trial> trials = invented_suite_trials();
  trials.push_back(
      invented_step("gemm 64x128x256 bf16 acc=f32 nn", "offline", 2, {1, 1, 1, 1}, "same"));
  const auto table = read_number_table(kText, "theirs.csv");
  const auto comparison =
      compare_with(suite_report("invented", invented_suite(), trials), *table, kKeys, {});
  ASSERT_FALSE(comparison);
  EXPECT_THAT(comparison.error().hint, HasSubstr("--types"));
}

}  // namespace
}  // namespace tilewright
