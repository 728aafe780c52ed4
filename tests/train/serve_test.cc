// SPDX-License-Identifier: Apache-2.0
// The learner's answers, in this process and behind the pipe: right ones, and errors for whatever
// else it is sent.
#include "train/serve.h"
#include "train/landscape.h"

#include "base/scratch_folder.h"
#include "learn/model.h"
#include "policy/learner.h"
#include "replay/run.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <set>

namespace tilewright {
namespace {

using Json = nlohmann::json;

class Serve : public ::testing::Test {
 protected:
  void SetUp() override {
    set_learning_threads(1);
    ASSERT_TRUE(LanguageModel::create(model_shape("xs").value(), 1)->save(weights()));
  }
  [[nodiscard]] std::string weights() const { return (folder_.path() / "w.safetensors").string(); }
  Json ask(const Json& request) { return Json::parse(server_.answer(request.dump())); }
  void begin(const std::vector<std::string>& only) {
    ASSERT_EQ(ask({{"ask", "load"}, {"path", weights()}})["ok"], true);
    const Json answer = ask({{"ask", "begin"},
                             {"problem", to_text(problem_)},
                             {"device", Json::parse(to_json(avx512_device(2)))},
                             {"only", only}});
    ASSERT_EQ(answer["ok"], true) << answer.dump();
  }
  [[nodiscard]] std::vector<std::string> table(std::size_t count) const {
    std::vector<std::string> texts;
    for (const Trial& trial : landscape_table({problem_}, count)) texts.push_back(trial.program);
    return texts;
  }

  ScratchFolder folder_;
  LearnerServer server_{"cpu"};
  Problem problem_ = landscape_shapes("held-out", 1).front();
};

TEST_F(Serve, WhateverItIsSentItAnswers) {
  for (const char* line :
       {"", "nonsense", "[]", "{}", "{\"ask\":7}", "{\"ask\":\"dance\"}", "{\"ask\":\"load\"}",
        "{\"ask\":\"load\",\"path\":\"/no/such/file\"}", "{\"ask\":\"sample\",\"n\":4}",
        "{\"ask\":\"learn\",\"trials\":[]}", "{\"ask\":\"save\",\"path\":\"/tmp/x\"}",
        "{\"ask\":\"begin\",\"problem\":\"gemm\",\"device\":{}}", "\xff\xfe"}) {
    const Json answer = Json::parse(server_.answer(line));
    EXPECT_EQ(answer["ok"], false) << line;
    EXPECT_FALSE(answer["error"].get<std::string>().empty()) << line;
  }
  EXPECT_FALSE(server_.done());
  begin(table(20));
  for (const Json& bad : {Json{{"ask", "sample"}, {"n", 0}}, Json{{"ask", "sample"}, {"n", 1e9}},
                          Json{{"ask", "sample"}, {"n", "many"}},
                          Json{{"ask", "sample"}, {"n", 2}, {"temperature", 0}},
                          Json{{"ask", "sample"}, {"n", 2}, {"exemplars", {{{"program", "x"}}}}},
                          Json{{"ask", "learn"}, {"trials", {{{"problem", 1}}}}}}) {
    EXPECT_EQ(ask(bad)["ok"], false) << bad.dump();
  }
  EXPECT_EQ(ask({{"ask", "sample"}, {"n", 2}})["ok"], true) << "none of it did harm";
  EXPECT_EQ(ask({{"ask", "quit"}})["ok"], true);
  EXPECT_TRUE(server_.done());
}

TEST_F(Serve, SamplesOnlyWhatIsAllowedAndLearnsFromTrials) {
  const std::vector<std::string> allowed = table(20);
  begin(allowed);
  const Json request = {
      {"ask", "sample"},
      {"n", 24},
      {"seed", 5},
      {"exemplars",
       {{{"problem", to_text(problem_)}, {"program", allowed[0]}, {"score", -0.5}},
        {{"problem", to_text(problem_)}, {"program", allowed[1]}, {"score", 0.1}}}}};
  const Json first = ask(request);
  ASSERT_EQ(first["ok"], true) << first.dump();
  ASSERT_EQ(first["programs"].size(), 24u);
  const std::set<std::string> set(allowed.begin(), allowed.end());
  for (const Json& program : first["programs"]) EXPECT_TRUE(set.contains(program));
  for (const Json& logprob : first["logprobs"]) EXPECT_LE(logprob.get<double>(), 0);
  EXPECT_EQ(ask(request)["programs"], first["programs"]) << "the same seed";

  Json trials = Json::array();
  for (const Json& program : first["programs"]) {
    const Program p = parse_program(program.get<std::string>()).value();
    trials.push_back(Json::parse(to_json(landscape_trial(problem_, p, avx512_device(2), 1))));
  }
  const Json learned = ask({{"ask", "learn"}, {"trials", trials}, {"steps", 2}});
  ASSERT_EQ(learned["ok"], true) << learned.dump();
  EXPECT_GT(learned["steps"].get<int>(), 0);
  EXPECT_EQ(learned["skipped"], 0);
  EXPECT_NE(ask(request)["logprobs"], first["logprobs"]) << "the weights have moved";
  const std::string saved = (folder_.path() / "after.safetensors").string();
  EXPECT_EQ(ask({{"ask", "save"}, {"path", saved}})["ok"], true);
  EXPECT_TRUE(LanguageModel::load(saved));
}

TEST_F(Serve, ThePolicySearchesATableThroughTheProcess) {
  const std::vector<ReplayWorld> worlds =
      make_worlds(landscape_table({problem_}, 24), avx512_device(2), 8, nullptr);
  ASSERT_EQ(worlds.size(), 1u);
  PolicyContext context;
  context.device = avx512_device(2);
  context.learner = {TILEWRIGHT_LEARNER_PATH, weights(), folder_.path() / "log"};
  ASSERT_TRUE(context.knobs.set("lm.learn=4"));
  ASSERT_TRUE(context.knobs.set("lm.samples=16"));
  const std::vector<std::size_t> budgets = {1, 4, 16, 24};
  const auto first = search(worlds.front(), "lm", context, budgets);
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_GT(first->quality.back(), 0.99) << "the whole table was searched";
  const auto second = search(worlds.front(), "lm", context, budgets);
  ASSERT_TRUE(second);
  EXPECT_EQ(first->quality, second->quality) << "the same seed, the same search";
}

}  // namespace
}  // namespace tilewright
