// SPDX-License-Identifier: Apache-2.0
// A talking child: what it answers, and every way in which it fails to.
#include "base/line_process.h"

#include "base/scratch_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace tilewright {
namespace {

using ::testing::HasSubstr;
constexpr std::chrono::seconds kLong{60};

std::unique_ptr<LineProcess> shell(const std::string& script) {
  return LineProcess::start({{"/bin/sh", "-c", script}, {}, {}}).value();
}

TEST(LineProcess, AnswersLineByLine) {
  const auto child = LineProcess::start({{"/bin/cat"}, {}, {}}).value();
  EXPECT_EQ(child->ask("one", kLong).value(), "one");
  EXPECT_EQ(child->ask("", kLong).value(), "");
  const std::string large(3 << 20, 'x');  // more than a socket holds at once
  EXPECT_EQ(child->ask(large, kLong).value(), large);
}

TEST(LineProcess, AChildThatEndsIsAnErrorThenAndLater) {
  const auto child = shell("read line; echo first; exit 0");
  EXPECT_EQ(child->ask("a", kLong).value(), "first");
  const auto second = child->ask("b", kLong);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::environment);
  EXPECT_THAT(child->ask("c", kLong).error().message, HasSubstr("is gone"));
}

TEST(LineProcess, SilenceEndsAtTheLimit) {
  const auto child = shell("sleep 600");
  EXPECT_THAT(child->ask("a", std::chrono::milliseconds(50)).error().message,
              HasSubstr("no answer"));
}

TEST(LineProcess, ItsErrorsAreLoggedAndVariablesAdded) {
  const ScratchFolder folder;
  const auto log = folder.path() / "log";
  {
    const auto child =
        LineProcess::start({{"/bin/sh", "-c", "echo trouble >&2; read line; echo $TW_ADDED $HOME"},
                            {"TW_ADDED=yes", "HOME=not-this"},
                            log})
            .value();
    const char* home = std::getenv("HOME");
    const std::string expected = home != nullptr ? home : "not-this";
    EXPECT_EQ(child->ask("a", kLong).value(), "yes " + expected);
  }
  std::ifstream file(log);
  std::string line;
  std::getline(file, line);
  EXPECT_EQ(line, "trouble");
}

TEST(LineProcess, WhatCannotRunIsAnError) {
  const auto child = LineProcess::start({{"/no/such/program"}, {}, {}});
  ASSERT_FALSE(child);
  EXPECT_THAT(child.error().message, HasSubstr("/no/such/program"));
}

TEST(FindCompanion, NamesWhatIsMissing) {
  const auto asked = find_companion("tw-nothing", "TW_NOTHING", "/no/such/file", "build it");
  ASSERT_FALSE(asked);
  EXPECT_THAT(asked.error().message, HasSubstr("/no/such/file"));
  const auto anywhere = find_companion("tw-nothing", "TW_NOTHING", {}, "build it");
  ASSERT_FALSE(anywhere);
  EXPECT_EQ(anywhere.error().hint, "build it");
  EXPECT_TRUE(find_companion("sh", "TW_NOTHING", {}, ""));
}

}  // namespace
}  // namespace tilewright
