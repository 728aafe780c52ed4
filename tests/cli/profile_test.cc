// SPDX-License-Identifier: Apache-2.0
// tilewright profile as a user types it, on this machine's CPU. On a GPU: tests/fakecuda.
#include "cli/profile_winners.h"
#include "cli/program_run.h"

#include "base/file.h"
#include "device/device.h"
#include "profile/csv.h"
#include "record/database.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace tilewright {
namespace {

using ::testing::HasSubstr;

constexpr const char* kProblem = "48x64x32";

TEST(Profile, WhatIsTypedWrongIsNamed) {
  const Place place;
  EXPECT_EQ(run_in(place, {"profile"}).exit_code, 2);
  EXPECT_EQ(run_in(place, {"profile", "best", kProblem, "--run", "r"}).exit_code, 2);
  const Completion format = run_in(place, {"profile", "best", kProblem, "--format", "xml"});
  EXPECT_EQ(format.exit_code, 2);
  EXPECT_THAT(format.output, HasSubstr("table, csv, json"));
  ASSERT_TRUE(write_file_atomically(place.file("pairs"), "# two\nbest | 8x8x8\nbest 8x8x8\n"));
  const Completion pairs = run_in(place, {"profile", "--file", place.file("pairs")});
  EXPECT_EQ(pairs.exit_code, 2);
  EXPECT_THAT(pairs.output, HasSubstr("pairs:3"));
  EXPECT_EQ(run_in(place, {"profile", "best", kProblem, "--metrics", "a__b.sum"}).exit_code, 2);
}

// The best program of a small problem, its values, and the values in the trial of a run.
TEST(Profile, OnACpu) {
  const Place place;
  Completion done = run_in(place, {"-q", "profile", "best", kProblem, "--format", "csv"});
  ASSERT_EQ(done.exit_code, 0) << done.output;
  const auto rows = parse_csv(done.output);
  ASSERT_TRUE(rows) << rows.error().message << done.output;
  const auto has = [&](const char* name) {
    return std::ranges::any_of(*rows, [&](const CsvRow& row) { return row[3] == name; });
  };
  EXPECT_TRUE(has("time_us")) << done.output;
  EXPECT_TRUE(has("fma_pct")) << done.output;

  Trial trial;
  trial.problem = rows->back()[0];
  trial.program = rows->back()[1];
  trial.device = detect_cpu().fingerprint();
  trial.outcome = Outcome::ok;
  trial.time_us = 1;
  trial.run = "r1";
  {
    auto database = Database::open(place.file("tuning.db"), Database::Access::read_write);
    ASSERT_TRUE(database) << database.error().message;
    ASSERT_TRUE(database->insert(trial));
  }
  EXPECT_EQ(run_in(place, {"profile", "--run", "other"}).exit_code, 1);
  done = run_in(place, {"profile", "--run", "r1"});
  ASSERT_EQ(done.exit_code, 0) << done.output;
  {
    const auto database = Database::open(place.file("tuning.db"), Database::Access::read_only);
    const auto trials = database->select({});
    ASSERT_TRUE(trials) << trials.error().message;
    ASSERT_EQ(trials->size(), 1U);
    ASSERT_TRUE(trials->front().profile) << done.output;
    EXPECT_EQ(trials->front().profile->values.count("fma_pct"), 1U);
    EXPECT_EQ(trials->front().id(), trial.id());
  }
  done = run_in(place, {"profile", "--run", "r1"});
  EXPECT_EQ(done.exit_code, 0);
  EXPECT_THAT(done.output, HasSubstr("0 of 1 winners"));
}

TEST(Profile, WithoutADriverAGpuIsAnErrorOfTheMachine) {
  const Place place;
  Command command = command_in(place, {"--device", "cuda:0", "profile", "best", kProblem});
  command.environment.emplace_back("TILEWRIGHT_LIBCUDA=/nonexistent/libcuda.so.1");
  const auto done = run(command);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->exit_code, 3) << done->output;
}

Trial ok(const char* problem, const char* program, const char* stage, double time_us) {
  Trial trial;
  trial.problem = problem;
  trial.program = program;
  trial.stage = stage;
  trial.outcome = Outcome::ok;
  trial.time_us = time_us;
  return trial;
}

TEST(Profile, WinnersOfARun) {
  Trial wrong = ok("p", "fast and wrong", "final", 0.1);
  wrong.outcome = Outcome::wrong;
  const std::vector<Trial> trials = {ok("q", "a", "screen", 5),       ok("p", "b", "screen", 1),
                                     ok("p", "c", "final", 3),        ok("p", "c", "screen", 2),
                                     ok("p", "source:x", "final", 1), wrong,
                                     ok("p", "d", "final", 4)};
  const auto names = [&](std::size_t top) {
    std::vector<std::string> list;
    for (const Trial& trial : winners_of(trials, top)) list.push_back(trial.program + trial.stage);
    return list;
  };
  EXPECT_EQ(names(1), (std::vector<std::string>{"ascreen", "cfinal"}));
  EXPECT_EQ(names(9), (std::vector<std::string>{"ascreen", "cfinal", "dfinal", "bscreen"}));
}

}  // namespace
}  // namespace tilewright
