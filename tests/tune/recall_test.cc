// SPDX-License-Identifier: Apache-2.0
// What policies may learn from, out of a database of invented trials.
#include "tune/recall.h"

#include "program/devices.h"
#include "program/family_cpu.h"
#include "program/space.h"
#include "record/made_trials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tilewright {
namespace {

using testing::ElementsAre;

struct Recorded {
  const char* problem;
  const char* mode = "offline";
  int headers = 1;
  std::string device = avx512_device(2).fingerprint();
};

Trial trial_of(const Recorded& recorded, double time_us) {
  Rng rng(1);
  const Problem product = parse_problem("gemm 64x64x64 f16 acc=f32 nn").value();
  Trial trial;
  trial.outcome = Outcome::ok;
  trial.problem = to_text(parse_problem(recorded.problem).value());
  trial.program = Space(cpu_family(), product, avx512_device(2)).sample(rng)->text();
  trial.device = recorded.device;
  trial.mode = recorded.mode;
  trial.stage = "screen";
  trial.device_headers = recorded.headers;
  trial.time_us = time_us;
  trial.unix_ms = static_cast<std::int64_t>(time_us);
  return trial;
}

TEST(Recall, WhatIsRecordedOfTheOperationOnTheDeviceInTheModeByAnyVersion) {
  const ScratchDirectory scratch;
  Database database = Database::open(scratch / "t.db", Database::Access::read_write).value();
  const Recorded kRecorded[] = {
      {.problem = "gemm 64x64x64 f16 acc=f32 nn"},
      {.problem = "gemm 96x64x64 f16 acc=f32 nt", .headers = 2},
      {.problem = "gemm 64x64x64 f16 acc=f32 nn", .mode = "server"},
      {.problem = "gemm 64x64x64 f16 acc=f32 nn", .device = "another"},
      {.problem = "softmax 64x64 f16"},
      {.problem = "gemm 128x64x64 bf16 acc=f32 nn"},
  };
  double time_us = 1;
  for (const Recorded& recorded : kRecorded) {
    ASSERT_TRUE(database.insert(trial_of(recorded, time_us++)).value());
  }
  const auto seen = [&](Op op) {
    const auto experience = recall(database, avx512_device(2), Mode::offline, op);
    std::vector<std::string> texts;
    for (const Known& known : experience.value()->known()) texts.push_back(to_text(known.problem));
    return texts;
  };
  EXPECT_THAT(seen(Op::gemm),
              ElementsAre("gemm 64x64x64 f16 acc=f32 nn", "gemm 96x64x64 f16 acc=f32 nt",
                          "gemm 128x64x64 bf16 acc=f32 nn"));
  EXPECT_THAT(seen(Op::softmax), ElementsAre("softmax 64x64 f16"));
  EXPECT_THAT(seen(Op::reduce), ElementsAre());
}

}  // namespace
}  // namespace tilewright
