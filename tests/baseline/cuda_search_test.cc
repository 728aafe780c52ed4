// SPDX-License-Identifier: Apache-2.0
// How the CUDA baselines decide, on invented times and results: no device is needed.
#include "baseline/cuda/cuda_baseline.h"
#include "baseline/cuda/cuda_self_check.h"
#include "baseline/cuda/descent.h"
#include "baseline/cuda/sampled_rows.h"
#include "launch/cuda/graph_timer.h"

#include "base/element.h"
#include "base/race.h"
#include "base/rng.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

namespace tilewright {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using vendor::AlgoConfig;

Problem problem_of(std::string_view text) {
  return parse_problem(text).value();
}

// Candidates with fixed times on a clock that they advance.
struct FakeField {
  std::vector<double> seconds;
  std::vector<int> runs;
  double clock = 0;

  explicit FakeField(std::vector<double> each) : seconds(std::move(each)), runs(seconds.size()) {}
  RaceResult race(const RaceRules& rules) {
    return tilewright::race(
        static_cast<int>(seconds.size()),
        [this](int i) -> Result<double> {
          const double s = seconds[static_cast<std::size_t>(i)];
          ++runs[static_cast<std::size_t>(i)];
          if (s < 0) return fail(ErrorCode::environment, "launch failed");
          clock += s;
          return s;
        },
        [this] { return clock; }, rules);
  }
};

TEST(Race, FindsTheFastestAndSparesTheSlow) {
  FakeField field({2.0, 1.0, 1.05, 9.0});
  const RaceResult result = field.race({.budget_seconds = 1e9});
  ASSERT_FALSE(result.order.empty());
  EXPECT_EQ(result.order[0], 1);
  EXPECT_EQ(result.order[1], 2);
  EXPECT_EQ(result.rounds, 15);
  EXPECT_THAT(field.runs, ElementsAre(1, 16, 16, 1));  // the slow left after the first round
}

TEST(Race, RunsTheLeastRoundsEvenWithoutBudget) {
  FakeField field({1.0, 1.01});
  const RaceResult result = field.race({.least_rounds = 3, .budget_seconds = 0});
  EXPECT_EQ(result.rounds, 3);
  EXPECT_THAT(field.runs, ElementsAre(4, 4));
}

TEST(Race, StopsWhenTheBudgetIsSpent) {
  FakeField field({1.0, 1.01});
  const RaceResult result =
      field.race({.least_rounds = 3, .most_rounds = 99, .budget_seconds = 20});
  EXPECT_EQ(result.rounds, 9);  // with the first, ten rounds of two seconds
}

TEST(Race, WhatFailsOrTakesNoTimeDoesNotWin) {
  FakeField field({-1.0, 0.0, 5.0});
  const RaceResult result = field.race({});
  EXPECT_THAT(result.order, ElementsAre(2));
  EXPECT_TRUE(std::isinf(result.medians[0]));
  EXPECT_TRUE(std::isinf(result.medians[1]));
  FakeField none({-1.0});
  EXPECT_TRUE(none.race({}).order.empty());
  EXPECT_TRUE(FakeField({}).race({}).order.empty());
}

TEST(Race, OneDisturbedRoundDecidesNothing) {
  int call = 0;
  const auto time_once = [&](int i) -> Result<double> {
    ++call;
    if (i == 0 && call == 5) return 1.05;  // the faster one meets a disturbance
    return i == 0 ? 1.0 : 1.02;
  };
  double clock = 0;
  const RaceResult result = race(2, time_once, [&] { return clock += 0.01; }, {});
  EXPECT_EQ(result.order[0], 0);
}

// A landscape whose time is the distance from one best configuration.
double cost(const AlgoConfig& c) {
  return 1 + std::abs(double(c.tile) - 7) + std::abs(double(c.stages) - 3) +
         std::abs(double(c.custom) - 2);
}
std::vector<AlgoConfig> adjacent(const AlgoConfig& from, vendor::Knob knob) {
  std::vector<AlgoConfig> list;
  const auto both = [&](std::uint32_t AlgoConfig::* field) {
    for (const std::uint32_t value : {from.*field + 1, from.*field - 1}) {
      if (value > 20) continue;
      list.push_back(from);
      list.back().*field = value;
    }
  };
  if (knob == vendor::Knob::tile) both(&AlgoConfig::tile);
  if (knob == vendor::Knob::stages) both(&AlgoConfig::stages);
  if (knob == vendor::Knob::custom) both(&AlgoConfig::custom);
  return list;
}

TEST(Descent, WalksToTheValley) {
  std::set<AlgoConfig> seen;
  const DescentSteps steps{adjacent, [](const auto& a, const auto& b) { return cost(b) < cost(a); },
                           [] { return false; }};
  const DescentResult result = descend({.id = 1, .tile = 1, .stages = 9}, steps, seen);
  EXPECT_EQ(result.best.tile, 7U);
  EXPECT_EQ(result.best.stages, 3U);
  EXPECT_EQ(result.best.custom, 2U);
  EXPECT_EQ(result.turns, 6 + 6 + 2);
  EXPECT_EQ(static_cast<std::size_t>(result.tried) + 1, seen.size());  // nothing tried twice
}

TEST(Descent, KeepsItsBestWhenTimeIsUp) {
  std::set<AlgoConfig> seen;
  int left = 4;
  const DescentSteps steps{adjacent,
                           [&](const auto& a, const auto& b) {
                             --left;
                             return cost(b) < cost(a);
                           },
                           [&] { return left <= 0; }};
  const DescentResult result = descend({.id = 1, .tile = 1, .stages = 9}, steps, seen);
  EXPECT_EQ(result.tried, 4);
  EXPECT_EQ(result.best.tile, 5U);
}

TEST(Descent, StaysWhereNothingIsBetter) {
  std::set<AlgoConfig> seen;
  const DescentSteps steps{adjacent, [](const auto&, const auto&) { return false; },
                           [] { return false; }};
  const AlgoConfig start{.id = 1, .tile = 5};
  EXPECT_EQ(descend(start, steps, seen).best, start);
}

TEST(SampledRows, AreTheFirstTheLastAndOthers) {
  const auto rows = sampled_rows(10'000, 64, 1);
  EXPECT_EQ(rows.size(), 64U);
  EXPECT_EQ(rows.front(), 0);
  EXPECT_EQ(rows.back(), 9999);
  EXPECT_TRUE(std::ranges::is_sorted(rows));
  EXPECT_THAT(sampled_rows(3, 64, 1), ElementsAre(0, 1, 2));
}

std::vector<std::byte> elements(ElementType type, const std::vector<double>& values) {
  std::vector<std::byte> bytes(values.size() * size_of(type));
  for (std::size_t i = 0; i < values.size(); ++i) {
    store(type, bytes.data(), static_cast<std::int64_t>(i), values[i]);
  }
  return bytes;
}

TEST(RowTolerance, AllowsRoundingAndNothingElse) {
  for (const std::string_view text :
       {"64x64x4096 f16", "64x64x4096 bf16", "64x64x4096 f16 out=f32"}) {
    const Problem p = problem_of(text);
    Rng rng(3);
    std::vector<double> values(64 * 4);
    for (double& v : values) v = 64 * rng.normal();  // sqrt(K)
    const auto want = elements(p.out, values);
    EXPECT_EQ(disagreement(p, want, want), "") << text;
    std::vector<double> rounded = values;
    const double step = std::max(unit_roundoff(p.out), std::ldexp(1, -20));
    for (double& v : rounded) v *= 1 + 2 * step;
    EXPECT_EQ(disagreement(p, want, elements(p.out, rounded)), "") << text;
    std::vector<double> zeros(values.size());
    EXPECT_THAT(disagreement(p, want, elements(p.out, zeros)), HasSubstr("instead of")) << text;
    std::vector<double> tail = values;
    for (double& v : tail) v += 4 * rng.normal();  // 16 of 4096 terms missing
    EXPECT_NE(disagreement(p, want, elements(p.out, tail)), "") << text;
    std::vector<double> hole = values;
    hole[130] = std::numeric_limits<double>::quiet_NaN();
    EXPECT_THAT(disagreement(p, want, elements(p.out, hole)),
                HasSubstr("sampled row 2 column 2 is nan"))
        << text;
  }
}

TEST(GraphTimer, HoldsMoreCallsOfSmallerProducts) {
  const auto calls = [](std::string_view text) {
    const Problem p = problem_of(text);
    return calls_per_graph(p.flop(), p.bytes());
  };
  EXPECT_EQ(calls("64x64x64 f16"), 64);
  EXPECT_EQ(calls("8192x8192x8192 f16"), 1);
  EXPECT_GT(calls("2048x2048x2048 f16"), 2);
  EXPECT_LT(calls("2048x2048x2048 f16"), 20);
}

TEST(CudaSelfCheck, JudgesTheGeometricMean) {
  const Problem small = problem_of("512x512x512 f16"), large = problem_of("4096x4096x4096 f16");
  const CudaSelfCheck good = judge({{small, 1e-5, 1.2e-5}, {large, 2e-4, 1.8e-4}});
  EXPECT_TRUE(good.passed) << good.reason;
  EXPECT_NEAR(good.tflops, large.flop() / 1.8e-4 / 1e12, 1e-6);
  const CudaSelfCheck bad = judge({{small, 1e-5, 1e-5}, {large, 2e-4, 3e-4}});
  EXPECT_FALSE(bad.passed);
  EXPECT_THAT(bad.reason, HasSubstr("1.22 times as long"));
  EXPECT_THAT(bad.reason, HasSubstr("4096x4096x4096 1.50"));
  EXPECT_FALSE(bad.fix.empty());
  EXPECT_FALSE(judge({}).passed);
}

TEST(CudaBaselines, SayWhyTheyAreNotAvailable) {
  Device cpu;
  const auto on_cpu = cuda_baselines_for(problem_of("64x64x64 f16"), cpu);
  ASSERT_EQ(on_cpu.size(), 4U);
  for (const BaselineInfo& each : on_cpu) {
    EXPECT_FALSE(each.available);
    EXPECT_TRUE(each.headline);
    EXPECT_THAT(each.why_not, HasSubstr("not a CUDA device"));
  }
  Device gpu;
  gpu.kind = DeviceKind::cuda;
  for (const BaselineInfo& each : cuda_baselines_for(problem_of("64x64x64 f16 out=bf16"), gpu)) {
    EXPECT_FALSE(each.available);
    EXPECT_THAT(each.why_not, HasSubstr("bf16"));
  }
  if (cuda::driver()) GTEST_SKIP() << "the rest needs a machine without a driver";
  for (const BaselineInfo& each : cuda_baselines_for(problem_of("64x64x64 f16"), gpu)) {
    EXPECT_FALSE(each.available);
    EXPECT_THAT(each.why_not, HasSubstr("driver"));
  }
}

}  // namespace
}  // namespace tilewright
