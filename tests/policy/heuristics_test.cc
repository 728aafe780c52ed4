// SPDX-License-Identifier: Apache-2.0
// The policy `heuristics`: what becomes of an answer, by an interpreter that says what a test
// wants; and the real program, with the package or without.
#include "policy/every_policy.h"

#include "base/file.h"
#include "base/scratch_folder.h"
#include "base/subprocess.h"
#include "device/invented_gpu.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstdlib>

namespace tilewright {
namespace {

using ::testing::HasSubstr;

PolicyContext on_h200(const char* problem) {
  return {parse_problem(problem).value(), invented_h200(), 1, {}};
}

class Heuristics : public ::testing::Test {
 protected:
  void TearDown() override { unsetenv("TILEWRIGHT_PYTHON"); }
  // From now on Python answers this line.
  void answer(const std::string& line) {
    const std::filesystem::path script = folder_.path() / "python";
    ASSERT_TRUE(write_file_atomically(script, fmt::format("#!/bin/sh\necho '{}'\n", line)));
    std::filesystem::permissions(script, std::filesystem::perms::owner_all);
    setenv("TILEWRIGHT_PYTHON", script.c_str(), 1);
  }
  static std::string kernel(int m, int n, int split, const char* cluster) {
    return fmt::format(
        R"({{"tile":[{},{},64],"warp":[64,64,64],"split":{},"stages":4,"swizzle":1,"along_n":true,"cluster":{}}})",
        m, n, split, cluster);
  }

  ScratchFolder folder_;
};

TEST_F(Heuristics, AreTheNearestLegalPrograms) {
  answer(fmt::format(R"({{"kernels":[{},{},{}]}})", kernel(128, 256, 1, "[2,1]"),
                     kernel(128, 256, 1, "[2,1]"), kernel(128, 128, 3, "[1,1]")));
  auto policy = make_policy("heuristics", on_h200("4096x4096x4096 f16 acc=f32 nn"));
  ASSERT_TRUE(policy) << policy.error().message;
  const std::vector<Program> first = (*policy)->propose(1), rest = (*policy)->propose(10);
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first[0].word("schedule"), "cooperative");
  EXPECT_EQ(first[0].number("tile_m"), 128);
  EXPECT_EQ(first[0].number("tile_n"), 256);
  EXPECT_EQ(first[0].number("stages"), 4);
  EXPECT_EQ(first[0].word("cluster"), "2x1");
  EXPECT_EQ(first[0].word("raster"), "n");
  ASSERT_EQ(rest.size(), 1U) << "the same again is not proposed";
  EXPECT_EQ(rest[0].number("tile_n"), 128);
  for (const Program& program : {first[0], rest[0]}) {
    EXPECT_TRUE(is_legal(program, parse_problem("4096x4096x4096").value(), invented_h200()));
  }
  EXPECT_TRUE((*policy)->propose(1).empty());
}

TEST_F(Heuristics, WhatIsNoAnswerIsAnError) {
  const auto error_of = [](const char* problem) {
    const auto policy = make_policy("heuristics", on_h200(problem));
    return policy ? "none" : policy.error().message;
  };
  for (const auto& [line, says] : {std::pair{"Traceback", "said 'Traceback'"},
                                   {R"({"error":"no package"})", "no package"},
                                   {"{}", "an answer of another form"},
                                   {R"({"kernels":[{"tile":7}]})", "an answer of another form"}}) {
    answer(line);
    EXPECT_THAT(error_of("512x512x512"), HasSubstr(says)) << line;
  }
  setenv("TILEWRIGHT_PYTHON", "/nowhere/python", 1);
  EXPECT_THAT(error_of("512x512x512"), HasSubstr("/nowhere/python"));
  EXPECT_THAT(error_of("softmax 64x64"), HasSubstr("softmax 64x64"));
  EXPECT_THAT(make_policy("heuristics", context_for("64x64x64")).error().message,
              HasSubstr("has nothing to say of"));
}

TEST_F(Heuristics, TheRealOneAnswersOrSaysWhatItLacks) {
  if (!find_program("python3")) GTEST_SKIP() << "there is no python3";
  const auto policy = make_policy("heuristics", on_h200("8x4096x4096 bf16 acc=f32 nt"));
  if (policy) {
    EXPECT_FALSE((*policy)->propose(8).empty());
  } else {
    EXPECT_THAT(policy.error().message, HasSubstr("nvidia-matmul-heuristics"));
  }
}

}  // namespace
}  // namespace tilewright
