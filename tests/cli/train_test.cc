// SPDX-License-Identifier: Apache-2.0
// tilewright train and the policy lm from the command line: what is missing is named, wrong words
// are refused, and a first stage runs where the learner was built.
#include "cli/program_run.h"

#include "base/file.h"
#include "replay/made_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace tilewright {
namespace {

using ::testing::HasSubstr;

std::string trials_file(const Place& place) {
  std::string lines;
  for (const Trial& trial : made_table({"128x1536x1024 f16 acc=f32 nn"}, 40)) {
    lines += to_json(trial) + '\n';
  }
  EXPECT_TRUE(write_file_atomically(place.file("trials.jsonl"), lines));
  EXPECT_TRUE(write_file_atomically(place.file("device.json"), to_json(avx512_device(2))));
  return place.file("trials.jsonl");
}

TEST(Train, WithoutTheLearnerItSaysHowToGetOne) {
  const Place place;
  const Completion done = run_in(
      place, {"train", "all", "--out", place.file("run"), "--learner", place.file("nothing")});
  EXPECT_EQ(done.exit_code, 3) << done.output;
  EXPECT_THAT(done.output, HasSubstr("tilewright-learner"));
  const Completion help = run_in(place, {"train", "--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.output, HasSubstr("not built")) << "the missing stage is named";
}

TEST(Train, ThePolicyWithoutLearnerOrWeightsSaysHowToGetThem) {
  const Place place;
  const std::string trials = trials_file(place);
  for (const auto& [flag, text] :
       {std::pair("--learner", "tilewright-learner"), std::pair("--weights", "no such file")}) {
    const Completion done =
        run_in(place, {"policy-bench", trials, "--device", place.file("device.json"), "--shapes",
                       "all", "--policies", "lm", flag, place.file("nothing")});
    EXPECT_EQ(done.exit_code, 3) << done.output;
    if (std::filesystem::exists(TILEWRIGHT_BINARY_DIR "/bin/tilewright-learner")) {
      EXPECT_THAT(done.output, HasSubstr(text));
    }
  }
}

TEST(Train, AFirstStageRunsAndWrongWordsAreRefused) {
  if (!std::filesystem::exists(TILEWRIGHT_BINARY_DIR "/bin/tilewright-learner")) {
    GTEST_SKIP() << "tilewright-learner was not built: no LibTorch";
  }
  const Place place;
  const std::string trials = trials_file(place);
  const auto train = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "train");
    for (const std::string& word :
         {std::string("--out"), place.file("run"), std::string("--trials"), trials,
          std::string("--device"), place.file("device.json"), std::string("--set"),
          std::string("shapes=2"), std::string("--set"), std::string("random_programs=4")}) {
      words.push_back(word);
    }
    return run_in(place, words);
  };
  const Completion done = train({"corpus"});
  EXPECT_EQ(done.exit_code, 0) << done.output;
  EXPECT_THAT(done.output, HasSubstr("corpus    passed"));
  EXPECT_TRUE(std::filesystem::exists(place.file("run") + "/corpus.txt"));
  EXPECT_THAT(train({"corpus"}).output, HasSubstr("(earlier)"));
  const Completion early = train({"rl"});
  EXPECT_EQ(early.exit_code, 2);
  EXPECT_THAT(early.output, HasSubstr("tilewright train general rl"));
  EXPECT_EQ(train({"general"}).exit_code, 2);
}

}  // namespace
}  // namespace tilewright
