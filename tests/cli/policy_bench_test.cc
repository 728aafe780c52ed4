// SPDX-License-Identifier: Apache-2.0
// Tables from the command line: filled, gone on with, and searched by policies.
#include "cli/program_run.h"

#include "base/file.h"
#include "device/device.h"
#include "replay/made_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tilewright {
namespace {

using ::testing::HasSubstr;

// A file of trials on an invented device, and the device.
std::vector<std::string> made_files(const Place& place) {
  std::string lines;
  for (const Trial& trial :
       made_table({"128x1536x1024 f16 acc=f32 nn", "128x12288x512 f16 acc=f32 nn"}, 40)) {
    lines += to_json(trial) + '\n';
  }
  EXPECT_TRUE(write_file_atomically(place.file("trials.jsonl"), lines));
  EXPECT_TRUE(write_file_atomically(place.file("device.json"), to_json(avx512_device(2))));
  return {"policy-bench", place.file("trials.jsonl"), "--device", place.file("device.json")};
}

std::vector<std::string> operator+(std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(PolicyBench, WritesASummaryAndAChart) {
  const Place place;
  const Completion done = run_in(
      place, made_files(place) +
                 std::vector<std::string>{"--policies", "random,ga,tpe", "--seeds", "2", "--format",
                                          "json", "--output", place.file("summary.json"), "--plot",
                                          place.file("curve.svg"), "--set", "ga.population=5"});
  ASSERT_EQ(done.exit_code, 0) << done.output;
  const auto json = nlohmann::json::parse(read_file(place.file("summary.json")).value());
  EXPECT_EQ(json["policies"].size(), 3U);
  EXPECT_EQ(json["protocol"]["knobs"], "ga.population=5");
  EXPECT_EQ(json["protocol"]["reference"], "random");
  ASSERT_EQ(json["problems"].size(), 1U);
  EXPECT_EQ(json["problems"][0]["split"], "held-out");
  EXPECT_THAT(read_file(place.file("curve.svg")).value(), HasSubstr("</svg>"));
}

TEST(PolicyBench, SaysWhatIsWrong) {
  const Place place;
  const std::vector<std::string> files = made_files(place);
  struct Case {
    std::vector<std::string> arguments;
    int exit_code;
    const char* text;
  };
  const Case cases[] = {
      {{"--policies", "magic"}, 2, "unknown policy 'magic'"},
      {{"--policies", "random", "--reference", "ga"}, 2, "--reference ga"},
      {{"--policies", "random", "--set", "ga.size=3"}, 2, "ga.population"},
      {{"--policies", "random", "--shapes", "some"}, 2, "held-out, train, all"},
      {{"--policies", "random", "--mode", "cold"}, 1, "no trials of mode 'cold'"},
      {{"--policies", "random", "--min-programs", "500"}, 1, "no table"},
      {{"--policies", "random", "--format", "csv"}, 2, "human, md or json"},
  };
  for (const Case& wrong : cases) {
    const Completion done = run_in(place, files + wrong.arguments);
    EXPECT_EQ(done.exit_code, wrong.exit_code) << done.output;
    EXPECT_THAT(done.output, HasSubstr(wrong.text));
  }
  const Completion elsewhere = run_in(place, {"policy-bench", place.file("trials.jsonl")});
  EXPECT_EQ(elsewhere.exit_code, 2) << elsewhere.output;
  EXPECT_THAT(elsewhere.output, HasSubstr("--device FILE"));
}

TEST(Table, IsFilledOnceAndThenComplete) {
  const Place place;
  const std::vector<std::string> command = {
      "--skip-self-check",   "table",      "16x16x16", "24x16x16", "--file",
      place.file("set.txt"), "--programs", "3",        "--with",   "isa=scalar"};
  const Completion first = run_in(place, command);
  ASSERT_EQ(first.exit_code, 0) << first.output;
  EXPECT_THAT(first.output, HasSubstr("12 timings of 3 programs on 2 problems, and 0 from before"));
  const std::string set = read_file(place.file("set.txt")).value();
  EXPECT_THAT(set, HasSubstr("isa=scalar"));
  const Completion second = run_in(place, command);
  EXPECT_THAT(second.output, HasSubstr("0 timings of 3 programs on 2 problems, and 12 from"));
  EXPECT_EQ(read_file(place.file("set.txt")).value(), set);
  const Completion bench = run_in(place, {"policy-bench", "--shapes", "all", "--min-programs", "1",
                                          "--policies", "random,transfer", "--seeds", "2"});
  // On a busy machine nothing may have been timed well enough.
  EXPECT_TRUE(bench.exit_code == 0 || bench.exit_code == 1) << bench.output;
}

TEST(Table, CanBeDrawnForADeviceThatIsNotHere) {
  const Place place;
  const std::vector<std::string> command = {
      "table",      "512x512x512",
      "--file",     place.file("set.txt"),
      "--device",   TILEWRIGHT_SOURCE_DIR "/devices/h200.json",
      "--programs", "8",
      "--draw-only"};
  EXPECT_EQ(run_in(place, command).exit_code, 0);
  EXPECT_THAT(read_file(place.file("set.txt")).value(), HasSubstr("sm90 "));
  const Completion wrong =
      run_in(place, {"table", "8x8x8", "--file", place.file("other.txt"), "--with", "sizes"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.output, HasSubstr("--with sizes: not KEY=VALUE"));
}

}  // namespace
}  // namespace tilewright
