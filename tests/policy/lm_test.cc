// SPDX-License-Identifier: Apache-2.0
// The policy `lm` against a learner made of a shell script: what it proposes of what it is told,
// and what it does when the process is missing, of another version, talks nonsense or dies.
#include "base/scratch_folder.h"
#include "policy/every_policy.h"
#include "policy/exemplars.h"
#include "policy/learner.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <set>

namespace tilewright {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;
constexpr const char* kProblem = "8x1536x1024 bf16 acc=f32 nn";

class LanguagePolicy : public ::testing::Test {
 protected:
  // A learner that answers each kind of ask with one line, and ends after `lives` samples.
  void make_learner(const Json& hello, const Json& sample, int lives = 1000000) {
    const auto write = [&](const char* name, const std::string& text) {
      std::ofstream(folder_.path() / name) << text << "\n";
      return (folder_.path() / name).string();
    };
    const std::string hello_file = write("hello", hello.dump());
    const std::string sample_file = write("sample", sample.dump());
    const std::string asked = (folder_.path() / "asked").string();
    const std::string script =
        write("learner", "#!/bin/sh\nleft=" + std::to_string(lives) +
                             "\nwhile read -r line; do\n  echo \"$line\" >> " + asked +
                             "\n  case \"$line\" in\n"
                             "    *'\"ask\":\"hello\"'*) cat " +
                             hello_file +
                             ";;\n    *'\"ask\":\"sample\"'*) left=$((left-1)); "
                             "[ $left -lt 0 ] && exit 1; cat " +
                             sample_file + ";;\n    *) echo '{\"ok\":true}';;\n  esac\ndone\n");
    std::filesystem::permissions(script, std::filesystem::perms::owner_all);
    place_.program = script;
    place_.weights = hello_file;  // any file
  }
  static Json hello() {
    return {{"ok", true},
            {"protocol", kLearnerProtocol},
            {"language", kProgramLanguageVersion},
            {"vocabulary", vocabulary_hash()}};
  }
  static Json samples(const std::vector<std::string>& texts) {
    Json programs = Json::array(), logprobs = Json::array();
    for (std::size_t i = 0; i < texts.size(); ++i) {
      programs.push_back(texts[i]);
      logprobs.push_back(-static_cast<double>(i));  // the first is the likeliest
    }
    return {{"ok", true}, {"programs", programs}, {"logprobs", logprobs}};
  }
  PolicyContext context(std::size_t tabled) const {
    PolicyContext c = context_for(kProblem);
    c.learner = place_;
    c.knobs = knobs_;
    if (tabled > 0) {
      c.only = std::make_shared<ProgramSet>(
          c.problem, c.device,
          make_policy("random", context_for(kProblem, 9)).value()->propose(tabled));
    }
    return c;
  }
  std::string asked() const {
    std::ifstream file(folder_.path() / "asked");
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

  ScratchFolder folder_;
  LearnerPlace place_;
  Knobs knobs_;
};

TEST_F(LanguagePolicy, WhatIsMissingIsNamedWithTheFix) {
  place_ = {"/no/such/learner", "/no/such/weights", {}};
  auto policy = make_policy("lm", context(0));
  ASSERT_FALSE(policy);
  EXPECT_EQ(policy.error().code, ErrorCode::environment);
  EXPECT_THAT(policy.error().message, HasSubstr("/no/such/learner"));
  make_learner(hello(), samples({}));
  place_.weights = "/no/such/weights";
  policy = make_policy("lm", context(0));
  ASSERT_FALSE(policy);
  EXPECT_THAT(policy.error().message, HasSubstr("/no/such/weights"));
  EXPECT_THAT(policy.error().hint, HasSubstr("tilewright train"));
}

TEST_F(LanguagePolicy, TheWeightsThatShipAreFound) {
  const Result<std::filesystem::path> found = find_weights({});
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->filename(), "lm.safetensors");
}

TEST_F(LanguagePolicy, ALearnerOfAnotherVersionIsRefused) {
  Json other = hello();
  other["vocabulary"] = "another";
  make_learner(other, samples({}));
  const auto policy = make_policy("lm", context(0));
  ASSERT_FALSE(policy);
  EXPECT_THAT(policy.error().message, HasSubstr("another version"));
  make_learner({{"ok", 1}, {"protocol", "one"}}, samples({}));
  EXPECT_FALSE(make_policy("lm", context(0)));
}

TEST_F(LanguagePolicy, ProposesTheLikeliestNewOnesAndThenUniformDraws) {
  const PolicyContext tabled = context(12);
  const auto programs = tabled.only->programs();
  const std::string first = programs[3].text(), second = programs[5].text();
  const std::string outside =
      make_policy("random", context_for(kProblem, 77)).value()->propose(1).front().text();
  make_learner(hello(), samples({first, "nonsense", first, outside, second}));
  PolicyContext c = context(12);
  const auto policy = make_policy("lm", c).value();
  EXPECT_EQ(policy->name(), "lm");
  const std::vector<Program> proposed = policy->propose(100);
  ASSERT_EQ(proposed.size(), 12u) << "the whole table, each once";
  EXPECT_EQ(proposed[0].text(), first);
  EXPECT_EQ(proposed[1].text(), second);
  std::set<std::string> texts;
  for (const Program& program : proposed) texts.insert(program.text());
  EXPECT_EQ(texts.size(), 12u);
  EXPECT_THAT(asked(), HasSubstr("\"only\":["));
}

TEST_F(LanguagePolicy, ShowsItsOwnResultsAndAsksToLearnFromThem) {
  const PolicyContext tabled = context(12);
  std::vector<std::string> texts;
  for (const Program& program : tabled.only->programs()) texts.push_back(program.text());
  make_learner(hello(), samples(texts));
  ASSERT_TRUE(knobs_.set("lm.round=2"));
  ASSERT_TRUE(knobs_.set("lm.learn=3"));
  PolicyContext c = context(12);
  const auto policy = make_policy("lm", c).value();
  double time = 10;
  for (int i = 0; i < 6; ++i) {
    for (const Program& program : policy->propose(1)) {
      policy->observe(ok_trial(c, program, time *= 1.5));
    }
  }
  const std::string log = asked();
  EXPECT_THAT(log, HasSubstr("\"exemplars\":[]")) << "the first round knows nothing";
  EXPECT_THAT(log, HasSubstr("\"exemplars\":[{")) << "later ones show results";
  EXPECT_THAT(log, HasSubstr("\"ask\":\"learn\""));
}

TEST_F(LanguagePolicy, ALostLearnerIsStartedOnceMoreAndThenTheSearchGoesOnWithoutIt) {
  const PolicyContext tabled = context(40);
  std::vector<std::string> texts;
  for (const Program& program : tabled.only->programs()) texts.push_back(program.text());
  make_learner(hello(), samples(texts), 1);
  ASSERT_TRUE(knobs_.set("lm.round=2"));
  PolicyContext c = context(40);
  const auto policy = make_policy("lm", c).value();
  EXPECT_EQ(policy->propose(2).size(), 2u);
  EXPECT_EQ(policy->propose(2).size(), 2u) << "from a second process";
  EXPECT_EQ(policy->name(), "lm");
  EXPECT_EQ(policy->propose(3).size(), 3u) << "uniform";
  EXPECT_EQ(policy->name(), "lm-lost");
}

TEST(Contrastive, DistinctBucketsWorstFirstAndTheBestMoreOften) {
  const std::vector<double> scores = {0.0, 0.01, -1.0, -1.01, -2.0};
  int best = 0, worst = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Rng rng(seed);
    const std::vector<std::size_t> chosen = contrastive(scores, 2, rng);
    ASSERT_EQ(chosen.size(), 2u);
    EXPECT_LT(scores[chosen[0]], scores[chosen[1]] - 0.5);
    best += chosen[1] < 2 ? 1 : 0;
    worst += chosen[0] == 4 ? 1 : 0;
  }
  EXPECT_GT(best, 200);
  EXPECT_LT(worst, 200);
  Rng rng(1);
  EXPECT_TRUE(contrastive({}, 2, rng).empty());
  EXPECT_EQ(contrastive(std::vector<double>{0.5, 0.5}, 3, rng).size(), 1u) << "one bucket";
}

TEST(ScoreOf, IsTheLogarithmOfTheSpeedUp) {
  Trial trial;
  trial.outcome = Outcome::ok;
  trial.time_us = 10;
  EXPECT_NEAR(score_of(trial, 5).value, std::log(0.5), 1e-12);
  trial.baselines["library"].time_us = 20;
  EXPECT_NEAR(score_of(trial, 5).value, std::log(2), 1e-12);
  trial.outcome = Outcome::wrong;
  EXPECT_FALSE(score_of(trial, 5).ok);
}

}  // namespace
}  // namespace tilewright
