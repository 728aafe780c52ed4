// SPDX-License-Identifier: Apache-2.0
// The unpaired column: what it says beside a candidate, how it is sized, and what becomes of it
// when its process (here a shell script in the place of Python) is absent, wrong or broken.
#include "tune/torch_column.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include <unistd.h>

namespace tilewright {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

Problem problem_of(std::string_view text) {
  return parse_problem(text).value();
}

Trial timed_trial(double time_us, double spread, double noise) {
  Trial trial;
  trial.outcome = Outcome::ok;
  trial.time_us = time_us;
  trial.spread = spread;
  trial.noise = noise;
  return trial;
}

TEST(RowBeside, IsTheMedianWithAllRepeatsAndTheCandidatesSpread) {
  const UnpairedTime time{"torch 9.1 (CUDA 13.0)", {13e-6, 12e-6, 11e-6, 12e-6, 14e-6}};
  const BaselineTime row = row_beside(time, timed_trial(10, 0.02, 0.01));
  EXPECT_DOUBLE_EQ(row.time_us, 12);
  EXPECT_DOUBLE_EQ(row.ratio, 1.2);
  EXPECT_DOUBLE_EQ(row.ratio_low, 1.1 / 1.02);
  EXPECT_DOUBLE_EQ(row.ratio_high, 1.4 / 0.98);
  EXPECT_EQ(row.comparison, "faster");
  EXPECT_FALSE(row.headline);
  EXPECT_EQ(row.choice, "torch 9.1 (CUDA 13.0), unpaired");
}

TEST(RowBeside, AWideIntervalDecidesNothing) {
  const UnpairedTime time{"torch", {10.9e-6, 11e-6, 11.1e-6}};
  EXPECT_EQ(row_beside(time, timed_trial(10, 0.01, 0.2)).comparison, "same");
  EXPECT_EQ(row_beside(time, timed_trial(10, 0.12, 0.01)).comparison, "ambiguous");
  EXPECT_EQ(row_beside(time, timed_trial(20, 0.01, 0.01)).comparison, "slower");
}

TEST(RowBeside, NeverCountsAsTheFastestBaseline) {
  Trial trial = timed_trial(10, 0, 0.01);
  trial.baselines["cublas"] = {.time_us = 11};
  trial.baselines["torch"] = row_beside({"torch", {5e-6}}, trial);
  EXPECT_EQ(trial.fastest_baseline()->first, "cublas");
}

TEST(TorchColumnSizes, SetsFitInItsMemory) {
  EXPECT_EQ(torch_sets(problem_of("64x64x64 f16"), 32), 32);
  // Three operands of half a gibibyte; the check's f64 takes four.
  EXPECT_EQ(torch_sets(problem_of("16384x16384x16384 f16"), 32), 2);
  EXPECT_EQ(torch_sets(problem_of("32768x32768x32768 f16"), 32), 0);
}

TEST(TorchColumnSizes, CallsFillASampleAndAreEquallyManyOnEachSet) {
  EXPECT_EQ(torch_calls(100e-6, 1), 50);
  EXPECT_EQ(torch_calls(100e-6, 3), 51);
  EXPECT_EQ(torch_calls(0.1, 2), 2);
  EXPECT_EQ(torch_calls(1e-6, 32), 1024);  // the longest graph
}

TEST(TorchColumnModes, OnlyThoseWithAClockOfTheirOwn) {
  EXPECT_EQ(torch_mode(Mode::offline), TorchMode::device);
  EXPECT_EQ(torch_mode(Mode::wall), TorchMode::wall);
  for (const Mode mode : {Mode::hot, Mode::cold, Mode::server}) EXPECT_FALSE(torch_mode(mode));
}

class TorchColumnTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("tilewright_column_" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  // A peer that keeps what it was asked in `asked` and notes each start in `starts`.
  TorchColumn column(const std::string& open, const std::string& check) {
    const fs::path path = folder_ / "python";
    std::ofstream(path) << "#!/bin/sh\necho x >>" << (folder_ / "starts").string() << R"(
echo '{"ready": true, "torch": "9.1", "cuda": "13.0"}'
while read -r line; do
  echo "$line" >>)" << (folder_ / "asked").string()
                        << R"(
  case "$line" in
    *'"do":"open"'*) echo ')"
                        << open << R"(' ;;
    *'"do":"check"'*) echo ')"
                        << check << R"(' ;;
    *'"repeats":3'*) echo '{"seconds": [3e-4, 1e-4, 2e-4], "host_seconds": []}' ;;
    *'"repeats":7'*) echo '{"seconds": [9, 9, 1e-4, 2e-4, 3e-4, 4e-4, 5e-4], "host_seconds": []}' ;;
    *) echo '{"ok": true}' ;;
  esac
done
)";
    fs::permissions(path, fs::perms::owner_all);
    return column_of(path.string());
  }
  TorchColumn column_of(const std::string& python) {
    using std::chrono::milliseconds;
    return TorchColumn(
        {.python = python, .start_limit = milliseconds{5000}, .limit = milliseconds{5000}},
        [this](const std::string& line) { said_.push_back(line); });
  }
  std::string file(const char* name) const {
    std::ifstream in(folder_ / name);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  fs::path folder_;
  std::vector<std::string> said_;
};

constexpr const char* kFine = R"({"ok": true})";
constexpr const char* kRight = R"({"worst": 0.25})";

TEST_F(TorchColumnTest, OneProcessServesAllProblems) {
  TorchColumn torch = column(kFine, kRight);
  const auto time = torch.time(problem_of("64x64x64 f16"), Mode::offline, 8);
  ASSERT_TRUE(time);
  EXPECT_EQ(time->library, "torch 9.1 (CUDA 13.0)");
  EXPECT_THAT(time->seconds, ElementsAre(1e-4, 2e-4, 3e-4, 4e-4, 5e-4)) << "two warm up";
  EXPECT_THAT(file("asked"), AllOf(HasSubstr(R"("sets":8)"), HasSubstr(R"("calls":56)"),
                                   HasSubstr(R"("mode":"device")"), HasSubstr("close")));
  EXPECT_TRUE(torch.time(problem_of("64x64x128 f16"), Mode::offline, 8));
  EXPECT_EQ(file("starts"), "x\n");
  EXPECT_THAT(said_, ElementsAre());
}

TEST_F(TorchColumnTest, StartsNothingWhereItHasNoColumn) {
  TorchColumn torch = column(kFine, kRight);
  EXPECT_FALSE(torch.time(problem_of("64x64x64 f16"), Mode::server, 8));
  EXPECT_FALSE(torch.time(problem_of("64x64x64 f16 acc=f16"), Mode::offline, 8));
  EXPECT_FALSE(torch.time(problem_of("64x64x72 f16 acc=f16"), Mode::offline, 8));
  EXPECT_EQ(file("starts"), "");
  EXPECT_THAT(said_, ElementsAre("torch: torch accumulates in f32")) << "once";
}

TEST_F(TorchColumnTest, AWrongResultHasNoTime) {
  TorchColumn torch = column(kFine, R"({"worst": 7})");
  EXPECT_FALSE(torch.time(problem_of("64x64x64 f16"), Mode::offline, 8));
  EXPECT_THAT(said_, ElementsAre(HasSubstr("its result is wrong (7 times")));
}

TEST_F(TorchColumnTest, IsStartedAgainAfterAnErrorButNotForever) {
  TorchColumn torch = column(R"({"error": "OutOfMemoryError"})", kRight);
  for (int i = 0; i < 5; ++i) {
    EXPECT_FALSE(torch.time(problem_of("64x64x64 f16"), Mode::offline, 8));
  }
  EXPECT_EQ(file("starts"), "x\nx\nx\n");
  EXPECT_THAT(said_, ElementsAre(HasSubstr("OutOfMemoryError")));
}

TEST_F(TorchColumnTest, AnAbsentPythonIsSaidOnce) {
  TorchColumn torch = column_of((folder_ / "absent").string());
  EXPECT_FALSE(torch.time(problem_of("64x64x64 f16"), Mode::offline, 8));
  EXPECT_FALSE(torch.time(problem_of("64x64x64 bf16"), Mode::wall, 8));
  EXPECT_THAT(said_, ElementsAre(AllOf(HasSubstr("absent"), HasSubstr("TILEWRIGHT_PYTHON"))));
}

}  // namespace
}  // namespace tilewright
