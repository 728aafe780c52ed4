// SPDX-License-Identifier: Apache-2.0
// tilewright record, with programs that do what the library would. (tests/install has the library.)
#include "cli/program_run.h"

#include "base/file.h"
#include "problem/suite.h"
#include "runtime/record_csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace tilewright {
namespace {

using runtime::AskedProblems;
using ::testing::HasSubstr;

std::string csv(const std::string& problem, int calls) {
  AskedProblems problems;
  runtime::add(problems, parse_problem(problem).value(), static_cast<std::uint64_t>(calls));
  return runtime::to_csv(problems);
}

TEST(Record, MergesWhatProcessesWroteAndTuneReadsIt) {
  const Place place;
  const std::string file = place.file("shapes.csv");
  ASSERT_TRUE(write_file_atomically(file, csv("8x16x32 bf16 nt", 1)));  // from an earlier run
  ASSERT_TRUE(write_file_atomically(place.file("part"), csv("4x4x4", 3)));
  const Completion completion = run_in(
      place, {"record", "-o", file, "--", "sh", "-c",
              "cp \"$1\" \"$TILEWRIGHT_RECORD.123\" && echo \"the program says $2\" && exit 7",
              "sh", place.file("part"), "--help"});
  EXPECT_EQ(completion.exit_code, 7) << completion.output;
  EXPECT_THAT(completion.output, HasSubstr("the program says --help\n"));
  EXPECT_THAT(completion.output, HasSubstr("3 calls; 2 problems"));
  EXPECT_FALSE(std::filesystem::exists(file + ".123"));
  const auto suite = read_suite(file);
  ASSERT_TRUE(suite) << suite.error().message;
  ASSERT_EQ(suite->entries.size(), 2u);
  EXPECT_EQ(to_text(suite->entries[0].problem), "gemm 4x4x4 f16 acc=f32 nn");
  EXPECT_EQ(to_text(suite->entries[1].problem), "gemm 8x16x32 bf16 acc=f32 nt");
}

TEST(Record, PassesEndsOfTheProgramOn) {
  const Place place;
  const std::string file = place.file("shapes.csv");
  const Completion quiet = run_in(place, {"record", "-o", file, "--", "true"});
  EXPECT_EQ(quiet.exit_code, 0);
  EXPECT_THAT(quiet.output, HasSubstr("asked libtilewright for no product"));
  EXPECT_EQ(run_in(place, {"record", "-o", file, "--", "sh", "-c", "kill -9 $$"}).exit_code, 137);
  const Completion absent = run_in(place, {"record", "-o", file, "--", "/nowhere/program"});
  EXPECT_EQ(absent.exit_code, 2);
  EXPECT_THAT(absent.output, HasSubstr("/nowhere/program"));
}

TEST(Record, LeavesAnotherFileAlone) {
  const Place place;
  const std::string file = place.file("mine.csv");
  ASSERT_TRUE(write_file_atomically(file, "m,n,k\n1,2,3\n"));
  const Completion completion =
      run_in(place, {"record", "-o", file, "--", "touch", place.file("ran")});
  EXPECT_EQ(completion.exit_code, 5) << completion.output;
  EXPECT_THAT(completion.output, HasSubstr("mine.csv"));
  EXPECT_FALSE(std::filesystem::exists(place.file("ran")));
  EXPECT_EQ(read_file(file).value(), "m,n,k\n1,2,3\n");
}

}  // namespace
}  // namespace tilewright
