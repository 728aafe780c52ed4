// SPDX-License-Identifier: Apache-2.0
// Numbers from NumPy 2.4.6 and SciPy 1.17.1 (quantile, median_abs_deviation, gmean, bootstrap with
// method='percentile' and 20,000 resamples), and the verdicts of tests/cases/comparisons.txt.
#include "measure/statistics.h"

#include "base/file.h"
#include "base/rng.h"
#include "base/text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

namespace tilewright {
namespace {

const std::vector<double> kValues = {3.1, -2.0, 7.25, 0.5, 11.0, 4.75, 4.75, -0.125, 9.5, 1.0};

TEST(Statistics, QuantilesAreNumPys) {
  EXPECT_DOUBLE_EQ(quantile(kValues, 0), -2);
  EXPECT_DOUBLE_EQ(quantile(kValues, 0.1), -0.3125);
  EXPECT_DOUBLE_EQ(quantile(kValues, 0.25), 0.625);
  EXPECT_DOUBLE_EQ(quantile(kValues, 0.9), 9.65);
  EXPECT_DOUBLE_EQ(quantile(kValues, 0.975), 10.6625);
  EXPECT_DOUBLE_EQ(quantile(kValues, 1), 11);
  EXPECT_DOUBLE_EQ(median(kValues), 3.925);
  EXPECT_DOUBLE_EQ(median(std::vector<double>{5}), 5);
  EXPECT_TRUE(std::isnan(median({})));
  EXPECT_TRUE(std::isnan(quantile({}, 0.3)));
}

TEST(Statistics, SpreadAndGeometricMeanAreSciPys) {
  const std::vector<double> ratios = {0.8, 1.25, 1.1, 0.97, 2.0, 1.5, 0.333};
  EXPECT_DOUBLE_EQ(median_absolute_deviation(kValues), 3.375);
  EXPECT_DOUBLE_EQ(median_absolute_deviation(ratios), 0.3);
  EXPECT_DOUBLE_EQ(geometric_mean(ratios), 1.0091632236189034);
  EXPECT_DOUBLE_EQ(geometric_mean(std::vector<double>{2, 0.5}), 1);  // a win and its loss
  EXPECT_TRUE(std::isnan(geometric_mean({})));
}

TEST(Bootstrap, IntervalsAreSciPys) {
  const std::vector<double> seven = {1.02, 0.99, 1.07, 1.11, 1.05, 1.20, 1.01};
  const Interval at95 = bootstrap_median(seven);
  EXPECT_DOUBLE_EQ(at95.low, 1.01);
  EXPECT_DOUBLE_EQ(at95.mid, 1.05);
  EXPECT_DOUBLE_EQ(at95.high, 1.11);
  const std::vector<double> eleven = {0.91, 0.95, 1.0,  1.04, 1.06, 1.08,
                                      1.1,  1.13, 1.15, 1.21, 1.3};
  struct Row {
    double confidence, low, high;
  };
  for (const Row& row : {Row{0.95, 1.0, 1.15}, Row{0.8, 1.04, 1.13}, Row{0.5, 1.06, 1.1}}) {
    const Interval got = bootstrap_median(eleven, row.confidence, 4000, 3);
    EXPECT_DOUBLE_EQ(got.low, row.low) << row.confidence;
    EXPECT_DOUBLE_EQ(got.high, row.high) << row.confidence;
  }
}

TEST(Bootstrap, IsAFunctionOfItsSeedAndOfNothingElse) {
  std::vector<double> values;
  Rng rng(5);
  for (int i = 0; i < 40; ++i) values.push_back(1 + 0.05 * rng.normal());
  const Interval one = bootstrap_median(values, 0.95, 300, 1);
  const Interval again = bootstrap_median(values, 0.95, 300, 1);
  const Interval other = bootstrap_median(values, 0.95, 300, 2);
  EXPECT_EQ(one.low, again.low);
  EXPECT_EQ(one.high, again.high);
  EXPECT_TRUE(one.low != other.low || one.high != other.high);
}

TEST(Bootstrap, DegenerateInputs) {
  const Interval single = bootstrap_median(std::vector<double>{1.5});
  EXPECT_EQ(single.low, 1.5);
  EXPECT_EQ(single.high, 1.5);
  const Interval ties = bootstrap_median(std::vector<double>(7, 2.0));
  EXPECT_EQ(ties.low, 2);
  EXPECT_EQ(ties.high, 2);
  EXPECT_TRUE(std::isnan(bootstrap_median({}).mid));
}

// The interval must hold the true median about as often as it says: 95 % nominal is 90 to 99 %
// for a percentile bootstrap of 11 values.
TEST(Bootstrap, CoversTheTruth) {
  Rng rng(11);
  int covered = 0;
  constexpr int kTrials = 1000;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> values;
    for (int i = 0; i < 11; ++i) values.push_back(std::exp(0.1 * rng.normal()));  // median 1
    const Interval got = bootstrap_median(values, 0.95, 400, static_cast<std::uint64_t>(trial));
    covered += got.low <= 1 && 1 <= got.high ? 1 : 0;
  }
  EXPECT_GT(covered, 900);
  EXPECT_LT(covered, 995);
}

TEST(Bootstrap, APairedRatioIsThatOfTheRatios) {
  const std::vector<double> theirs = {3, 4, 10, 1.5}, ours = {1, 2, 4, 1};
  const std::vector<double> ratios = {3, 2, 2.5, 1.5};
  const Interval paired = paired_ratio(theirs, ours, 7);
  const Interval plain = bootstrap_median(ratios, 0.95, 1000, 7);
  EXPECT_EQ(paired.mid, 2.25);
  EXPECT_EQ(paired.low, plain.low);
  EXPECT_EQ(paired.high, plain.high);
}

TEST(Compare, TheCasesOfTheTable) {
  const auto text = read_file(TILEWRIGHT_SOURCE_DIR "/tests/cases/comparisons.txt");
  ASSERT_TRUE(text);
  int cases = 0;
  for (const std::string_view line : split(*text, '\n')) {
    if (line.empty() || line.starts_with('#')) continue;
    const auto parts = split(line, '|');
    ASSERT_EQ(parts.size(), 3U) << line;
    const auto numbers = words(parts[0]);
    ASSERT_EQ(numbers.size(), 3U) << line;
    const auto number = [&](std::size_t i) {
      return std::strtod(std::string(numbers[i]).c_str(), nullptr);
    };
    const Interval speedup{number(0), (number(0) + number(1)) / 2, number(1)};
    EXPECT_EQ(name_of(compare(speedup, number(2))), trim(parts[1])) << line;
    ++cases;
  }
  EXPECT_GE(cases, 15);
}

}  // namespace
}  // namespace tilewright
