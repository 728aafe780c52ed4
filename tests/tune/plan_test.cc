// SPDX-License-Identifier: Apache-2.0
// How much is measured at which effort.
#include "tune/plan.h"

#include <gtest/gtest.h>

#include "measure/rounds.h"

namespace tilewright {
namespace {

Device a_gpu() {
  Device device;
  device.kind = DeviceKind::cuda;
  return device;
}

Problem cube(std::int64_t size) {
  Problem problem;
  problem.m = problem.n = problem.k = size;
  return problem;
}

TEST(Plans, FinalsOfEachEffort) {
  const EvaluationPlan normal =
      final_plan(cube(512), a_gpu(), Mode::offline, {"b"}, Effort::normal);
  const EvaluationPlan sweep = final_plan(cube(512), a_gpu(), Mode::offline, {"b"}, Effort::sweep);
  const EvaluationPlan scout = final_plan(cube(512), a_gpu(), Mode::offline, {"b"}, Effort::scout);
  EXPECT_GE(sweep.measure.rounds, 5) << "a verdict";
  EXPECT_TRUE(sweep.measure.self_pair);
  EXPECT_LT(sweep.measure.burst_seconds, normal.measure.burst_seconds);
  EXPECT_FALSE(normal.unpaired.empty());
  EXPECT_TRUE(sweep.unpaired.empty());
  EXPECT_LT(scout.measure.rounds, 5) << "no verdict";
  EXPECT_FALSE(scout.measure.self_pair);
  EXPECT_FALSE(scout.quick_proof) << "but the whole proof";
  EXPECT_TRUE(scout.unpaired.empty());
  for (const Effort effort : {Effort::sweep, Effort::scout}) {
    EXPECT_TRUE(is_hasty(effort));
    EXPECT_LT(vendor_search(effort), 1);
  }
  EXPECT_EQ(effort_from("scout"), Effort::scout);
  EXPECT_FALSE(effort_from("scouts"));
}

TEST(Plans, WherePowerLimitsThereIsAContestAndFinalsAreWarm) {
  Device cpu;
  cpu.kind = DeviceKind::cpu;
  EXPECT_FALSE(meets_power_cap(cube(1024), a_gpu()));
  EXPECT_TRUE(meets_power_cap(cube(4096), a_gpu()));
  EXPECT_FALSE(meets_power_cap(cube(4096), cpu));
  EXPECT_GT(contestants(cube(4096), a_gpu(), Mode::offline), finalists(Effort::normal));
  EXPECT_LE(contestants(cube(4096), a_gpu(), Mode::offline), 1U + kMostRivals);
  EXPECT_EQ(contestants(cube(1024), a_gpu(), Mode::offline), 0U);
  EXPECT_EQ(contestants(cube(4096), a_gpu(), Mode::server), 0U);
  EXPECT_EQ(contestants(cube(4096), cpu, Mode::offline), 0U);
  const MeasureOptions contest = contest_plan(a_gpu(), Mode::offline, "").measure;
  EXPECT_TRUE(contest.mirrored && contest.warm_seconds > 0 && !contest.self_pair);
  for (const Effort effort : {Effort::normal, Effort::sweep, Effort::scout}) {
    EXPECT_EQ(finalists(effort), effort == Effort::normal ? 3U : 1U);
    const auto warm = [&](std::int64_t size, Mode mode) {
      return final_plan(cube(size), a_gpu(), mode, {}, effort).measure.warm_seconds;
    };
    const auto mirrored = [&](std::int64_t size, Mode mode) {
      return final_plan(cube(size), a_gpu(), mode, {}, effort).measure.mirrored;
    };
    EXPECT_TRUE(mirrored(4096, Mode::offline));
    EXPECT_FALSE(mirrored(4096, Mode::sustained)) << "each for so long at a time";
    EXPECT_FALSE(mirrored(4096, Mode::server));
    EXPECT_FALSE(mirrored(1024, Mode::offline));
    EXPECT_GE(warm(4096, Mode::offline), 0.15);
    EXPECT_EQ(warm(4096, Mode::server), 0) << "calls alone meet a cool card";
    EXPECT_EQ(warm(1024, Mode::offline), 0);
  }
}

// Two hundred served calls are what a bench promises; a screening makes do with a few.
TEST(Plans, ServedCalls) {
  for (const Effort effort : {Effort::normal, Effort::sweep}) {
    const MeasureOptions bench = final_plan(cube(512), a_gpu(), Mode::server, {}, effort).measure;
    EXPECT_GE(bench.rounds * calls_for(2e-3, bench), 200);
  }
  const MeasureOptions screen = screening_plan(a_gpu(), Mode::server, "b").measure;
  EXPECT_LT(screen.rounds * calls_for(2e-3, screen), 30);
}

}  // namespace
}  // namespace tilewright
