// SPDX-License-Identifier: Apache-2.0
// How much is measured at which effort.
#include "tune/evaluate.h"

#include <gtest/gtest.h>

#include "measure/rounds.h"

namespace tilewright {
namespace {

Device a_gpu() {
  Device device;
  device.kind = DeviceKind::cuda;
  return device;
}

TEST(Plans, FinalsOfEachEffort) {
  const EvaluationPlan normal = final_plan(a_gpu(), Mode::offline, {"b"}, Effort::normal);
  const EvaluationPlan sweep = final_plan(a_gpu(), Mode::offline, {"b"}, Effort::sweep);
  const EvaluationPlan scout = final_plan(a_gpu(), Mode::offline, {"b"}, Effort::scout);
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

// Two hundred served calls are what a bench promises; a screening makes do with a few.
TEST(Plans, ServedCalls) {
  for (const Effort effort : {Effort::normal, Effort::sweep}) {
    const MeasureOptions bench = final_plan(a_gpu(), Mode::server, {}, effort).measure;
    EXPECT_GE(bench.rounds * calls_for(2e-3, bench), 200);
  }
  const MeasureOptions screen = screening_plan(a_gpu(), Mode::server, "b").measure;
  EXPECT_LT(screen.rounds * calls_for(2e-3, screen), 30);
}

}  // namespace
}  // namespace tilewright
