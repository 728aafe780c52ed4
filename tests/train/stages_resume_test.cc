// SPDX-License-Identifier: Apache-2.0
// A run that was killed - after steps, after checkpoints, at any moment - and started again ends
// with the same weights and the same log as one that was not.
#include "train/landscape.h"
#include "train/request.h"
#include "train/train.h"

#include "base/file.h"
#include "base/scratch_folder.h"
#include "base/subprocess.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <set>

namespace tilewright {
namespace {

const std::vector<std::string> kAll = {"corpus", "pretrain", "sft", "general", "rl", "ei"};

TrainInput tiny_input(const std::filesystem::path& folder) {
  TrainInput input = landscape_input(folder, 4, 2, 30);
  add_rows(input, 3, 2, 30);
  TrainPlan& plan = input.plan;
  plan.shapes = 3;
  plan.operations = 2;
  plan.random_programs = 6;
  plan.pretrain_steps = 5;
  plan.sft_steps = 2;
  plan.texts_per_step = 2;
  plan.iterations = 3;
  plan.prompts = 2;
  plan.samples = 3;
  plan.off_policy = 2;
  plan.expert_steps = 1;
  plan.unmasked = 1;
  plan.judged = 2;
  plan.save_every = 1;
  plan.force = true;
  return input;
}

std::string bytes(const std::filesystem::path& path) {
  const Result<std::string> text = read_file(path);
  return text ? *text : "missing: " + path.string();
}

void expect_same_run(const std::filesystem::path& a, const std::filesystem::path& b,
                     const std::vector<std::string>& stages) {
  for (const std::string& stage : stages) {
    EXPECT_EQ(bytes(a / (stage + ".safetensors")), bytes(b / (stage + ".safetensors"))) << stage;
    EXPECT_EQ(bytes(a / stage / "log.jsonl"), bytes(b / stage / "log.jsonl")) << stage;
  }
  EXPECT_EQ(bytes(a / "weights.safetensors"), bytes(b / "weights.safetensors"));
}

TEST(Resume, AfterFaultsAtStepsAndCheckpointsTheSameRunComesOut) {
  set_learning_threads(1);
  const ScratchFolder whole, broken;
  ASSERT_TRUE(train(kAll, tiny_input(whole.path())));
  int crashes = 0;
  // Each start crashes at another event, some before anything was saved.
  for (const int at : {2, 5, 3, 6, 2, 4, 7, 3}) {
    int events = 0;
    const auto result = train(kAll, tiny_input(broken.path()),
                              [&](std::string_view, std::int64_t) { return ++events == at; });
    if (result) break;
    EXPECT_EQ(result.error().code, ErrorCode::interrupted) << result.error().message;
    ++crashes;
  }
  EXPECT_GE(crashes, 5);
  const auto result = train(kAll, tiny_input(broken.path()));
  ASSERT_TRUE(result) << result.error().message;
  expect_same_run(whole.path(), broken.path(), {"pretrain", "sft", "general", "rl", "ei"});
  // A third call has nothing to do, and one with other numbers is refused.
  const auto again = train(kAll, tiny_input(broken.path()));
  ASSERT_TRUE(again);
  for (const StageOutcome& stage : again->stages) EXPECT_TRUE(stage.earlier);
  TrainInput other = tiny_input(broken.path());
  other.plan.samples = 4;
  const auto refused = train(kAll, other);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("other numbers"), std::string::npos);
}

TEST(Resume, AProcessKilledAtAnyMomentGoesOn) {
  const ScratchFolder folder;
  const std::filesystem::path trials = folder.path() / "trials.jsonl";
  {
    std::vector<Problem> shapes = landscape_shapes("train", 3);
    std::ofstream file(trials);
    for (const Trial& trial : landscape_table(shapes, 24)) file << to_json(trial) << "\n";
  }
  const auto command = [&](const std::string& out) {
    const nlohmann::json request = {
        {"stages", {"corpus", "pretrain", "sft", "general", "rl"}},
        {"out", (folder.path() / out).string()},
        {"size", "xs"},
        {"compute", "cpu"},
        {"force", true},
        {"trials", {trials.string()}},
        {"device", nlohmann::json::parse(to_json(avx512_device(2)))},
        {"set",
         {"shapes=2", "random_programs=6", "pretrain_steps=5", "sft_steps=2", "texts_per_step=2",
          "iterations=3", "prompts=2", "samples=3", "save_every=1", "judged=2", "unmasked=1"}}};
    Command c;
    c.argv = {TILEWRIGHT_LEARNER_PATH, "train", request.dump()};
    c.environment = {"OMP_NUM_THREADS=1"};
    c.limit = std::chrono::minutes(5);
    return c;
  };
  const Result<Completion> whole = run(command("whole"));
  ASSERT_TRUE(whole);
  ASSERT_LE(whole->exit_code, 1) << whole->output;  // 1: a gate failed, as it may
  int killed = 0;
  for (int limit = 400; limit < 300000; limit *= 2) {
    Command c = command("broken");
    c.limit = std::chrono::milliseconds(limit);
    const Result<Completion> part = run(c);
    ASSERT_TRUE(part);
    if (!part->timed_out) {
      ASSERT_LE(part->exit_code, 1) << part->output;
      break;
    }
    ++killed;
  }
  EXPECT_GE(killed, 1);
  expect_same_run(folder.path() / "whole", folder.path() / "broken", {"pretrain", "sft", "rl"});
}

TEST(PlanNumbers, AreSetByNameWithinTheirLimits) {
  TrainPlan plan = plan_for("s").value();
  EXPECT_EQ(plan.size, "s");
  EXPECT_TRUE(set_number(plan, "samples=16"));
  EXPECT_EQ(plan.samples, 16u);
  EXPECT_TRUE(set_number(plan, "grpo=1"));
  EXPECT_EQ(plan.advantage, AdvantageKind::group);
  for (const char* bad : {"sample=3", "samples", "samples=", "samples=1", "rl_rate=nan", "eq3=x"}) {
    EXPECT_FALSE(set_number(plan, bad)) << bad;
  }
  EXPECT_FALSE(plan_for("huge"));
}

TEST(StageList, NamesWhatIsThereAndWhatIsNot) {
  const std::vector<std::string> backwards = {"rl", "corpus"};
  EXPECT_EQ(stages_of(backwards).value(), (std::vector<std::string>{"corpus", "rl"}));
  const std::vector<std::string> distil = {"distil"};
  const auto unknown = stages_of(distil);
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().hint.find("general"), std::string::npos);
  // A stage without the one before it says what to do.
  const ScratchFolder folder;
  const std::vector<std::string> rl = {"rl"};
  const auto early = train(rl, tiny_input(folder.path()));
  ASSERT_FALSE(early);
  EXPECT_NE(early.error().hint.find("tilewright train general rl"), std::string::npos);
}

}  // namespace
}  // namespace tilewright
