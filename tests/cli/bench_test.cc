// SPDX-License-Identifier: Apache-2.0
// A suite benched through the real program: recorded, killed, resumed, reported.
#include "base/file.h"
#include "base/text.h"
#include "cli/program_start.h"
#include "record/database.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <set>
#include <tuple>

namespace tilewright {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Quick to compile and legal in every layout and type.
constexpr const char* kProgram =
    "cpu isa=scalar form=direct threads=1 mr=2 nr=4 kc=0 nc=0 packa=none unroll=1 prefetch=0 "
    "order=nm sizes=runtime";

std::vector<std::string> bench_of(const char* layouts, const char* modes,
                                  std::vector<std::string> more = {}) {
  std::vector<std::string> arguments = {"--skip-self-check", "bench",  "--suite",  "tiny.csv",
                                        "--layouts",         layouts,  "--mode",   modes,
                                        "--program",         kProgram, "--format", "csv"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

void write_suite(const Place& place) {
  ASSERT_TRUE(write_file_atomically(place.file("tiny.csv"), "m,n,k\n4,8,8\n6,8,16\n"));
}

std::vector<Trial> trials_in(const Place& place) {
  auto database = Database::open(place.file("tuning.db"), Database::Access::read_only);
  if (!database) return {};
  return database->select({}).value();
}

std::vector<Trial> ok_trials_in(const Place& place) {
  std::vector<Trial> trials = trials_in(place);
  std::erase_if(trials, [](const Trial& trial) { return trial.outcome != Outcome::ok; });
  return trials;
}

// On a busy machine a trial may be noisy; the next start times only those again.
Completion run_until_done(const Place& place, const std::vector<std::string>& arguments) {
  Completion completion;
  for (int attempt = 0; attempt < 5; ++attempt) {
    completion = run_in(place, arguments);
    if (completion.exit_code != 1) break;
  }
  return completion;
}

TEST(Bench, RecordsASuiteResumesAndReports) {
  const Place place;
  write_suite(place);
  const Completion first = run_until_done(place, bench_of("nn", "offline,server"));
  EXPECT_EQ(first.exit_code, 0) << first.output;
  const std::vector<Trial> recorded = ok_trials_in(place);
  ASSERT_EQ(recorded.size(), 4U) << "two shapes in two modes\n" << first.output;
  for (const Trial& trial : recorded) {
    EXPECT_EQ(trial.stage, "bench");
    EXPECT_EQ(trial.run, recorded.front().run);
    EXPECT_FALSE(trial.run.empty());
    EXPECT_FALSE(trial.host.empty());
    EXPECT_GT(trial.time_us, 0);
  }

  const Completion again = run_in(place, bench_of("nn", "offline,server"));
  EXPECT_EQ(again.exit_code, 0) << again.output;
  EXPECT_THAT(again.output, HasSubstr("4 of 4 were timed by an earlier start"));
  const std::size_t before = trials_in(place).size();
  (void)run_in(place, bench_of("nn", "offline", {"--fresh"}));
  EXPECT_EQ(trials_in(place).size(), before + 2);

  const Completion report = run_in(place, {"report", "--suite", "tiny.csv", "--format", "csv",
                                           "--output", "tiny.out.csv", "--command", "by hand"});
  EXPECT_EQ(report.exit_code, 0) << report.output;
  const auto text = read_file(place.file("tiny.out.csv"));
  ASSERT_TRUE(text);
  EXPECT_TRUE(text->starts_with("m,n,k,headline,dtype,acc,program,ratio_low,")) << *text;
  EXPECT_THAT(*text, AllOf(HasSubstr("\n4,8,8,nn,f16,f32,"), HasSubstr("\n6,8,16,nn,f16,f32,"),
                           Not(HasSubstr(",best,"))));
  const auto about =
      nlohmann::json::parse(read_file(place.file("tiny.out.csv.about.json")).value());
  EXPECT_EQ(about.at("counts").at("standing"), 4) << "the newest of each problem and mode";
  EXPECT_EQ(about.at("context").at("command"), "by hand");
  EXPECT_EQ(about.at("hardware").at("kind"), "cpu");

  // The same database twice is the same trials; another device or suite has none.
  const std::string db = place.file("tuning.db");
  const Completion merged =
      run_in(place, {"report", db, db, "--suite", "tiny.csv", "--device", "cpu"});
  EXPECT_EQ(merged.exit_code, 0) << merged.output;
  EXPECT_THAT(merged.output,
              HasSubstr(fmt::format("2 shapes, 2 rows, {} trials, 4 of them stand", before + 2)));
  EXPECT_EQ(run_in(place, {"report", "--suite", "tiny.csv", "--device", "cuda"}).exit_code, 1);
  EXPECT_EQ(run_in(place, {"report", "--suite", "demo"}).exit_code, 1);

  // A file of trials is as good as the database that it came from.
  const Completion shown = run_in(place, {"db", "show", "--limit", "0", "--format", "jsonl"});
  ASSERT_TRUE(write_file_atomically(place.file("trials.jsonl"), shown.output));
  const std::string copy = place.file("copy.db");
  const Completion read = run_in(place, {"db", "merge", place.file("trials.jsonl"), "--db", copy});
  EXPECT_EQ(read.exit_code, 0) << read.output;
  EXPECT_THAT(read.output, HasSubstr(fmt::format("trials.jsonl: {} new trials", before + 2)));

  ASSERT_TRUE(write_file_atomically(place.file("other.csv"), "m,n,k,theirs\n4,8,8,0.001\n"));
  const Completion compared = run_in(place, {"report", "--suite", "tiny.csv", "--compare",
                                             "other.csv", "--match", "theirs=nn.ours"});
  EXPECT_EQ(compared.exit_code, 0) << compared.output;
  EXPECT_THAT(compared.output, AllOf(HasSubstr("nn.ours"), HasSubstr("1 above 1.25")));
}

TEST(Bench, OnlyTheBaselinesThatAreNamed) {
  const Place place;
  write_suite(place);
  const Completion wrong = run_in(place, bench_of("nn", "offline", {"--baseline", "openglas"}));
  EXPECT_EQ(wrong.exit_code, 2) << wrong.output;
  EXPECT_THAT(wrong.output, AllOf(HasSubstr("'openglas'"), HasSubstr("openblas")));
  EXPECT_TRUE(trials_in(place).empty());

  const Completion one = run_until_done(
      place, bench_of("nn", "offline", {"--baseline", "reference", "--effort", "sweep"}));
  EXPECT_EQ(one.exit_code, 0) << one.output;
  for (const Trial& trial : ok_trials_in(place)) {
    EXPECT_EQ(trial.baselines.size(), 1U);
    EXPECT_TRUE(trial.baselines.contains("reference"));
  }
  EXPECT_EQ(run_in(place, bench_of("nn", "offline", {"--effort", "much"})).exit_code, 2);
}

// Run 2 times what run 1 chose, in all modes behind one proof; gaps are modes of their own.
TEST(Bench, TimesWhatAnEarlierRunChose) {
  const Place place;
  write_suite(place);
  ASSERT_EQ(run_until_done(place, bench_of("nn", "offline", {"--run", "one"})).exit_code, 0);
  const std::vector<std::string> second = {"--skip-self-check",
                                           "bench",
                                           "--suite",
                                           "tiny.csv",
                                           "--chosen-in",
                                           "one",
                                           "--run",
                                           "two",
                                           "--mode",
                                           "offline,server",
                                           "--gap-us",
                                           "50,300",
                                           "--effort",
                                           "sweep",
                                           "--precision",
                                           "50",
                                           "--baseline",
                                           "reference",
                                           "--server-baseline",
                                           "reference"};
  const Completion done = run_until_done(place, second);
  EXPECT_EQ(done.exit_code, 0) << done.output;
  std::set<std::string> timed;
  for (const Trial& trial : ok_trials_in(place)) {
    EXPECT_EQ(trial.program, kProgram);
    if (trial.run == "two") timed.insert(trial.problem + " " + trial.mode);
  }
  EXPECT_EQ(timed.size(), 6U) << "two shapes in three modes\n" << done.output;
  EXPECT_TRUE(timed.contains("gemm 4x8x8 f16 acc=f32 nn server_50us"));
  EXPECT_TRUE(timed.contains("gemm 4x8x8 f16 acc=f32 nn server_300us"));

  const Completion nobody =
      run_in(place, {"--skip-self-check", "bench", "--suite", "tiny.csv", "--chosen-in", "three"});
  EXPECT_EQ(nobody.exit_code, 1) << nobody.output;
  EXPECT_THAT(nobody.output, HasSubstr("--chosen-in three: no proven program"));
  EXPECT_EQ(
      run_in(place, {"bench", "4x8x8", "--chosen-in", "one", "--program", kProgram}).exit_code, 2);
}

// Rules and records outlive each other: a recorded program may be illegal now.
TEST(Bench, PassesOverWhatIsIllegalNow) {
  const Place place;
  write_suite(place);
  ASSERT_EQ(run_until_done(place, bench_of("nn", "offline")).exit_code, 0);
  {
    auto database = Database::open(place.file("tuning.db"), Database::Access::read_write);
    ASSERT_TRUE(database);
    for (Trial trial : ok_trials_in(place)) {
      trial.run = "old";
      if (trial.problem.find("4x8x8") != std::string::npos) {
        trial.program.replace(trial.program.find("kc=0"), 4, "kc=256");
      }
      ASSERT_TRUE(database->insert(trial));
    }
  }
  const Completion done =
      run_until_done(place, {"--skip-self-check", "bench", "--suite", "tiny.csv", "--chosen-in",
                             "old", "--run", "new", "--effort", "sweep"});
  EXPECT_EQ(done.exit_code, 1) << done.output;
  EXPECT_THAT(done.output, HasSubstr("4x8x8 f16 acc=f32 nn: illegal program: kc-block"));
  std::vector<Trial> timed = ok_trials_in(place);
  std::erase_if(timed, [](const Trial& trial) { return trial.run != "new"; });
  ASSERT_EQ(timed.size(), 1U) << done.output;
  EXPECT_THAT(timed.front().problem, HasSubstr("6x8x16"));
}

// A kernel that the library would serve a problem with is no known program of that problem.
TEST(Bench, WhatWasServedIsNotTheBestKnownProgram) {
  const Place place;
  write_suite(place);
  ASSERT_EQ(run_until_done(place, bench_of("nn", "offline")).exit_code, 0);
  std::vector<Trial> known = ok_trials_in(place);
  ASSERT_FALSE(known.empty());
  Trial served = known.front();
  served.policy = "served: nearest";
  served.program = "sm90 of another shape";
  served.time_us /= 1000;
  {
    auto database = Database::open(place.file("tuning.db"), Database::Access::read_write);
    ASSERT_TRUE(database);
    ASSERT_TRUE(database->insert(served));
  }
  const Completion again =
      run_in(place, {"--skip-self-check", "bench", "4x8x8", "--effort", "sweep"});
  EXPECT_THAT(again.output, Not(HasSubstr("of another shape")));
  EXPECT_NE(again.exit_code, 2) << again.output;
}

// Which kernels those are is tested in runtime_cuda; here only what is said where there are none.
TEST(Bench, ServedIsForCudaDevices) {
  const Place place;
  write_suite(place);
  const Completion cpu = run_in(place, {"--skip-self-check", "bench", "@untuned200", "--served"});
  EXPECT_EQ(cpu.exit_code, 2) << cpu.output;
  EXPECT_THAT(cpu.output, HasSubstr("--served"));
  EXPECT_EQ(run_in(place, bench_of("nn", "offline", {"--served"})).exit_code, 2) << "a program too";
  EXPECT_EQ(run_in(place, {"bench", "8x8x8", "--kernels", "."}).exit_code, 2);
}

TEST(Bench, KilledAtAnyMomentItLosesOneTrialAtMost) {
  const Place place;
  write_suite(place);
  const std::vector<std::string> command = bench_of("nn", "offline,hot,server");
  std::set<std::string> known;
  for (const int delay_ms : {400, 700, 1100}) {
    const pid_t pid = start(place, command);
    ASSERT_GT(pid, 0);
    int status = 0;
    if (!wait_for(pid, status, std::chrono::milliseconds(delay_ms))) {
      kill(pid, SIGKILL);
      waitpid(pid, &status, 0);
    }
    std::set<std::string> now;
    for (const Trial& trial : trials_in(place)) now.insert(trial.id());
    for (const std::string& id : known) EXPECT_TRUE(now.contains(id)) << "a trial was lost";
    known = std::move(now);
  }
  const Completion last = run_until_done(place, command);
  EXPECT_EQ(last.exit_code, 0) << last.output;
  std::set<std::tuple<std::string, std::string>> timed;
  for (const Trial& trial : trials_in(place)) {
    if (trial.outcome != Outcome::ok) continue;
    EXPECT_TRUE(timed.insert({trial.problem, trial.mode}).second) << "timed twice";
  }
  EXPECT_EQ(timed.size(), 6U);
}

TEST(Bench, CtrlCSavesAndExitsWith130) {
  const Place place;
  const pid_t pid =
      start(place, {"--skip-self-check", "bench", "8:512:8x8x8", "--program", kProgram});
  int status = 0;
  ASSERT_FALSE(wait_for(pid, status, std::chrono::milliseconds(1500)));
  kill(pid, SIGINT);
  const bool ended = wait_for(pid, status, std::chrono::seconds(30));
  if (!ended) kill(-pid, SIGKILL);
  ASSERT_TRUE(ended);
  ASSERT_TRUE(WIFEXITED(status)) << read_file(place.file("log")).value();
  EXPECT_EQ(WEXITSTATUS(status), 130) << read_file(place.file("log")).value();
  EXPECT_FALSE(trials_in(place).empty());
}

TEST(Bench, SuitesAreCrossedWithTypesAndLayouts) {
  const Place place;
  write_suite(place);
  const Completion all =
      run_in(place, {"verify", "--suite", "tiny.csv", "--types", "f16,bf16", "--layouts", "nn,nt"});
  EXPECT_EQ(all.exit_code, 0) << all.output;
  for (const char* text : {"gemm 4x8x8 f16 acc=f32 nn: proven", "gemm 4x8x8 f16 acc=f32 nt: proven",
                           "gemm 6x8x16 bf16 acc=f32 nt: proven"}) {
    EXPECT_THAT(all.output, HasSubstr(text));
  }
  const Completion wrong = run_in(place, {"verify", "8x8x8", "--layouts", "nn,xx"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.output, AllOf(HasSubstr("--layouts"), HasSubstr("xx")));
}

}  // namespace
}  // namespace tilewright
