// SPDX-License-Identifier: Apache-2.0
// The whole loop through the real program: tune, kill, resume, interrupt, export, time again.
#include "cli/program_start.h"

#include "base/file.h"
#include "base/rng.h"
#include "record/database.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <chrono>
#include <filesystem>
#include <set>
#include <thread>

namespace tilewright {
namespace {

using ::testing::HasSubstr;

const std::vector<std::string> kTune = {
    "--skip-self-check", "tune",     "24x64x64 f16 nn", "9x80x48 bf16 nt",
    "1x96x64 bf16 nn",   "--budget", "3 trials",        "--summary",
    "summary.json",      "--policy", "random"};

std::vector<Trial> trials_in(const Place& place) {
  auto database = Database::open(place.file("tuning.db"), Database::Access::read_only);
  if (!database) return {};
  return database->select({}).value();
}

TEST(Tune, FindsProvesRecordsAndExports) {
  const Place place;
  const Completion tuned = run_in(place, kTune);
  EXPECT_EQ(tuned.exit_code, 0) << tuned.output;
  EXPECT_THAT(tuned.output, HasSubstr("tilewright bench 'gemm"));

  const auto summary = nlohmann::json::parse(read_file(place.file("summary.json")).value());
  EXPECT_EQ(summary.at("problems"), 3);
  EXPECT_EQ(summary.at("programs").size(), 3U);
  EXPECT_GE(summary.at("trials"), 9);
  // On a busy machine a trial may be noisy.
  const auto& outcomes = summary.at("outcomes");
  EXPECT_GE(outcomes.value("ok", 0) + outcomes.value("noisy", 0), 9);

  // Every winner proves and times again from its text alone.
  for (const auto& [problem, program] : summary.at("programs").items()) {
    const Completion verified =
        run_in(place, {"verify", problem, "--program", program.get<std::string>()});
    EXPECT_EQ(verified.exit_code, 0) << verified.output;
    Completion timed;
    for (int start = 0; start < 10; ++start) {
      timed = run_in(
          place, {"--skip-self-check", "bench", problem, "--program", program.get<std::string>()});
      if (timed.output.find(": noisy (") == std::string::npos) break;
    }
    EXPECT_EQ(timed.exit_code, 0) << timed.output;
  }
  EXPECT_EQ(run_in(place, {"wisdom", "export", "--output", "wisdom.txt"}).exit_code, 0);
  const Completion checked = run_in(place, {"wisdom", "check", "wisdom.txt"});
  EXPECT_EQ(checked.exit_code, 0) << checked.output;
  EXPECT_THAT(checked.output, HasSubstr("3 winners"));

  EXPECT_EQ(run_in(place, {"wisdom", "import", "wisdom.txt"}).exit_code, 0);
  const Completion explained =
      run_in(place, {"explain", "24x64x64 f16 nn", "--db", place.file("other.db")});
  EXPECT_THAT(explained.output, HasSubstr("imported wisdom: "));

  // Another tune begins with what was found: in its first trial with what wisdom has of the shape
  // nearby. (The benches above may have put another finalist before the tune's winner.)
  const Completion begun =
      run_in(place, {"--skip-self-check", "tune", "24x64x72 f16 nn", "--begin-with", "wisdom.txt",
                     "--budget", "1 trials", "--policy", "random", "--run", "begun"});
  const std::vector<Trial> all = trials_in(place);
  const auto first = std::ranges::find(all, "begun", &Trial::run);
  ASSERT_NE(first, all.end()) << begun.output;
  EXPECT_EQ(first->policy, "wisdom");
  EXPECT_THAT(read_file(place.file("wisdom.txt")).value(),
              HasSubstr("entry gemm 24x64x64 f16 acc=f32 nn | " + first->program + " |"));

  // The same command again has nothing to do and says so.
  const std::size_t before = trials_in(place).size();
  const Completion again = run_in(place, kTune);
  EXPECT_EQ(again.exit_code, 0) << again.output;
  EXPECT_THAT(again.output, HasSubstr("3 of 3 problems were finished"));
  EXPECT_EQ(trials_in(place).size(), before);
}

// CASES C05: killed at random moments, the rerun goes on and nothing measured is lost.
TEST(Tune, KilledTwentyTimesItResumes) {
  const Place place;
  Rng rng(static_cast<std::uint64_t>(getpid()));
  std::set<std::string> known;
  int killed = 0;
  for (int attempt = 0; attempt < 20; ++attempt) {
    const pid_t pid = start(place, kTune);
    ASSERT_GT(pid, 0);
    const auto delay = std::chrono::milliseconds(50 + rng.below(900));
    int status = 0;
    if (!wait_for(pid, status, delay)) {
      kill(pid, SIGKILL);
      waitpid(pid, &status, 0);
      ++killed;
    }
    std::set<std::string> now;
    for (const Trial& trial : trials_in(place)) now.insert(trial.id());
    for (const std::string& id : known) EXPECT_TRUE(now.contains(id)) << "a trial was lost";
    known = std::move(now);
  }
  EXPECT_GT(killed, 0);
  const Completion last = run_in(place, kTune);
  EXPECT_EQ(last.exit_code, 0) << last.output;
  std::set<std::string> screened;
  std::set<std::string> finished;
  for (const Trial& trial : trials_in(place)) {
    if (trial.stage == "final") finished.insert(trial.problem);
    if (trial.stage != "screen") continue;
    EXPECT_TRUE(screened.insert(trial.problem + trial.program).second)
        << "screened twice: " << trial.program;
  }
  EXPECT_EQ(finished.size(), 3U);
  EXPECT_EQ(screened.size(), 9U) << "three programs for each of three problems";
}

// A search has begun once it has its database.
void wait_for_search(const Place& place) {
  for (int i = 0; i < 6000 && !std::filesystem::exists(place.file("tuning.db")); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

// CASES C06: Ctrl-C during compiling and timing.
TEST(Tune, CtrlCSavesAndExitsWith130) {
  for (const int delay_ms : {400, 900, 1500}) {
    const Place place;
    const pid_t pid = start(place, {"--skip-self-check", "tune", "64x256x256 f16 nn", "--budget",
                                    "500 trials", "--policy", "random"});
    int status = 0;
    wait_for_search(place);
    ASSERT_FALSE(wait_for(pid, status, std::chrono::milliseconds(delay_ms)));
    kill(pid, SIGINT);
    const bool ended = wait_for(pid, status, std::chrono::seconds(30));
    if (!ended) kill(-pid, SIGKILL);
    ASSERT_TRUE(ended);
    ASSERT_TRUE(WIFEXITED(status)) << read_file(place.file("log")).value();
    EXPECT_EQ(WEXITSTATUS(status), 130) << read_file(place.file("log")).value();
    // The whole group is gone: no compiler and no runner is left behind. What was killed may take
    // a moment to be reaped.
    for (int i = 0; i < 1000 && kill(-pid, 0) == 0; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_EQ(kill(-pid, 0), -1);
  }
}

TEST(Tune, WhatCtrlCCutShortGoesOn) {
  const Place place;
  const std::vector<std::string> tune = {
      "--skip-self-check", "tune",  "64x256x256 f16 nn", "--budget", "14 trials",
      "--policy",          "random"};
  const pid_t pid = start(place, tune);
  wait_for_search(place);
  int status = 0;
  if (!wait_for(pid, status, std::chrono::milliseconds(1200))) {
    kill(pid, SIGINT);
    ASSERT_TRUE(wait_for(pid, status, std::chrono::seconds(60)));
  }
  const auto screens = [&place] {
    return std::ranges::count(trials_in(place), "screen", &Trial::stage);
  };
  const bool early = screens() < 14;
  for (const Trial& trial : trials_in(place)) {
    EXPECT_EQ(trial.cut_short, early && trial.stage == "final");
  }
  const Completion last = run_in(place, tune);
  EXPECT_EQ(last.exit_code, 0) << last.output;
  EXPECT_EQ(screens(), 14);
  EXPECT_TRUE(std::ranges::any_of(trials_in(place), [](const Trial& trial) {
    return trial.stage == "final" && !trial.cut_short;
  }));
}

// CASES C18: a time budget is kept to within one candidate, and what was skipped is said.
TEST(Tune, ATimeBudgetIsKept) {
  const Place place;
  const Completion completion =
      run_in(place, {"--skip-self-check", "tune", "16,48x64x64 f16 nn", "--budget", "100ms"});
  EXPECT_TRUE(completion.exit_code == 0 || completion.exit_code == 4) << completion.output;
  EXPECT_THAT(completion.output, HasSubstr("skipped: "));
}

}  // namespace
}  // namespace tilewright
