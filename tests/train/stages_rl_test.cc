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

// What both tests have in common.
void make_short(TrainPlan& plan) {
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
}

TEST(Training, ReinforcementRaisesTheRewardOfHeldOutShapes) {
  set_learning_threads(1);
  const ScratchFolder folder;
  TrainInput input = landscape_input(folder.path(), 24, 16, 160);
  ASSERT_EQ(input.worlds.held_out.size(), 16u);
  ASSERT_EQ(input.worlds.choice.size(), 4u);
  make_short(input.plan);
  input.plan.operations = 0;
  const Result<TrainResult> result =
      train(stages_of(std::vector<std::string>{"all"}).value(), input);
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_EQ(result->stages.size(), 6u);
  const StageOutcome& general = result->stages[3];
  EXPECT_EQ(general.stage, "general");
  EXPECT_TRUE(general.gate.passed) << "without tables it passes its weights on";
  const StageOutcome& rl = result->stages[4];
  EXPECT_EQ(rl.stage, "rl");
  EXPECT_TRUE(rl.gate.passed) << rl.gate.reason;
  const auto numbers = numbers_of(rl);
  EXPECT_GT(numbers.at("held_out_gain_low"), 0) << rl.gate.reason;
}

TEST(Training, AndOfOtherOperations) {
  set_learning_threads(1);
  const ScratchFolder folder;
  TrainInput input = landscape_input(folder.path(), 4, 0, 16);
  make_short(input.plan);
  input.plan.shapes = 4;
  input.plan.operations = 12;
  add_rows(input, 16, 16, 120);
  ASSERT_EQ(input.operations.held_out.size(), 16u);
  const std::vector<std::string> stages = {"corpus", "pretrain", "sft", "general"};
  const Result<TrainResult> result = train(stages, input);
  ASSERT_TRUE(result) << result.error().message;
  const StageOutcome& general = result->stages.back();
  EXPECT_TRUE(general.gate.passed) << general.gate.reason;
  EXPECT_GT(numbers_of(general).at("held_out_gain_low"), 0) << general.gate.reason;
  EXPECT_EQ(result->best, "sft") << "weights are chosen by products";
}

}  // namespace
}  // namespace tilewright
