// SPDX-License-Identifier: Apache-2.0
// Which trial stands when several runs have measured a problem.
#include "report/standing.h"

#include "report/invented_trials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace tilewright {
namespace {

Trial trial_of(const char* stage, const char* run, std::int64_t when, double us,
               const char* mode = "offline") {
  Trial trial = invented("gemm 64x64x64 f16 acc=f32 nn", us, {{"b", compared(10 / us, "", us)}});
  trial.stage = stage;
  trial.run = run;
  trial.unix_ms = when;
  trial.mode = mode;
  return trial;
}

double time_of(std::vector<Trial> trials) {
  // Whatever the order in which databases were merged.
  std::ranges::reverse(trials);
  const std::vector<Trial> reversed = standing_trials(trials);
  std::ranges::reverse(trials);
  const std::vector<Trial> standing = standing_trials(trials);
  EXPECT_EQ(standing, reversed);
  EXPECT_EQ(standing.size(), 1U);
  return standing.empty() ? 0 : standing.front().time_us;
}

TEST(Standing, TheNewestBenchTrial) {
  EXPECT_EQ(time_of({trial_of("bench", "a", 1, 5), trial_of("bench", "b", 2, 6)}), 6);
  EXPECT_EQ(time_of({trial_of("final", "a", 1, 5), trial_of("bench", "b", 2, 6)}), 6);
}

TEST(Standing, OfTheNewestTuningRunItsBestFinalist) {
  EXPECT_EQ(time_of({trial_of("final", "a", 1, 3), trial_of("final", "b", 2, 5),
                     trial_of("final", "b", 3, 4), trial_of("final", "b", 4, 6)}),
            4)
      << "run a is older, however fast";
}

TEST(Standing, ScreeningFailuresAndOtherModesDoNotCount) {
  Trial failed = trial_of("bench", "c", 9, 1);
  failed.outcome = Outcome::noisy;
  EXPECT_EQ(time_of({trial_of("bench", "a", 1, 5), trial_of("screen", "b", 2, 1), failed}), 5);
  EXPECT_EQ(
      standing_trials({trial_of("bench", "a", 1, 5), trial_of("bench", "a", 1, 9, "wall")}).size(),
      2U);
  EXPECT_TRUE(standing_trials({}).empty());
}

}  // namespace
}  // namespace tilewright
