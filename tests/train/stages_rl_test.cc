// SPDX-License-Identifier: Apache-2.0
// The whole course of training at its smallest: an XS model through every stage on invented tables.
// What it must show: reinforcement raised the expected reward of prompts of shapes that nothing was
// fitted to.
#include "train/landscape.h"
#include "train/train.h"

#include "base/scratch_folder.h"

#include <gtest/gtest.h>

#include <map>

namespace tilewright {
namespace {

std::map<std::string, double> numbers_of(const StageOutcome& stage) {
  return {stage.gate.numbers.begin(), stage.gate.numbers.end()};
}

TEST(Training, ReinforcementRaisesTheRewardOfHeldOutShapes) {
  set_learning_threads(1);
  const ScratchFolder folder;
  TrainInput input = landscape_input(folder.path(), 24, 16, 160);
  ASSERT_EQ(input.worlds.held_out.size(), 16u);
  ASSERT_EQ(input.worlds.choice.size(), 4u);
  TrainPlan& plan = input.plan;
  plan.shapes = 20;
  plan.random_programs = 16;
  plan.pretrain_steps = 16;
  plan.sft_steps = 6;
  plan.texts_per_step = 16;
  plan.iterations = 18;
  plan.prompts = 8;
  plan.samples = 8;
  plan.epochs = 1;
  plan.exemplar_share = 0.2;
  plan.off_policy = 2;
  plan.rl_rate = 1e-3;
  plan.expert_steps = 1;
  plan.unmasked = 8;
  plan.judged = 24;
  plan.force = true;  // so short a pretraining writes few legal programs without the mask
  const Result<TrainResult> result =
      train(stages_of(std::vector<std::string>{"all"}).value(), input);
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_EQ(result->stages.size(), 5u);
  const StageOutcome& rl = result->stages[3];
  EXPECT_EQ(rl.stage, "rl");
  EXPECT_TRUE(rl.gate.passed) << rl.gate.reason;
  const auto numbers = numbers_of(rl);
  EXPECT_GT(numbers.at("held_out_gain_low"), 0) << rl.gate.reason;
}

}  // namespace
}  // namespace tilewright
