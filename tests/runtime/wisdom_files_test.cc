// SPDX-License-Identifier: Apache-2.0
// Damaged, foreign, missing and unreadable wisdom is a miss with a warning (cases C01, C08, C11).
#include "runtime/wisdom_files.h"

#include "base/file.h"
#include "base/scratch_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace tilewright::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Device invented(int multiprocessors) {
  Device device;
  device.kind = DeviceKind::cuda;
  device.name = "Invented GPU";
  device.silicon = "invented-sm_90";
  device.cuda.capability = 90;
  device.cuda.multiprocessors = multiprocessors;
  return device;
}

std::string wisdom_text(const Device& device, const std::string& program) {
  Wisdom wisdom;
  wisdom.device = device;
  wisdom.entries.push_back({.problem = "gemm 64x64x64 f16 acc=f32 nn",
                            .program = program,
                            .mode = "offline",
                            .time_us = 1,
                            .reference = "",
                            .ratio = 0,
                            .date = "2026-11-30"});
  return to_text(wisdom);
}

// No variable of the tester's reaches these tests.
class WisdomFiles : public ::testing::Test {
 protected:
  WisdomFiles() {
    ::unsetenv("TILEWRIGHT_WISDOM");
    ::setenv("XDG_DATA_HOME", (folder_.path() / "data").c_str(), 1);
  }
  ~WisdomFiles() override {
    ::unsetenv("TILEWRIGHT_WISDOM");
    ::unsetenv("XDG_DATA_HOME");
  }
  std::filesystem::path put(const std::string& name, const std::string& text) {
    EXPECT_TRUE(write_file_atomically(folder_.path() / name, text));
    return folder_.path() / name;
  }

  ScratchFolder folder_;
  Device device_ = invented(132);
};

TEST_F(WisdomFiles, EveryCutOfAFileIsAMissWithOneWarning) {
  const std::string whole = wisdom_text(device_, "sm90 a=1");
  Options options;
  for (std::size_t length = 0; length < whole.size(); length += 37) {
    options.wisdom = put("cut.txt", whole.substr(0, length));
    const KnownWisdom known = known_wisdom(options, device_);
    EXPECT_THAT(known.entries, IsEmpty());
    EXPECT_THAT(known.warnings, ElementsAre(HasSubstr("cut.txt")));
  }
  options.wisdom = put("cut.txt", whole);
  EXPECT_EQ(known_wisdom(options, device_).entries.size(), 1u);
}

TEST_F(WisdomFiles, OfOtherSiliconIsAMissOfAnotherNameNot) {
  Options options;
  options.wisdom = put("w.txt", wisdom_text(invented(114), "sm90 a=1"));
  EXPECT_THAT(known_wisdom(options, device_).warnings, ElementsAre(HasSubstr("not for this")));
  Device renamed = device_;
  renamed.name = "Sold under another name";
  options.wisdom = put("w.txt", wisdom_text(renamed, "sm90 a=1"));
  EXPECT_EQ(known_wisdom(options, device_).entries.size(), 1u);
}

TEST_F(WisdomFiles, AMissingFileThatWasNamedIsAWarning) {
  Options options;
  options.wisdom = folder_.path() / "none.txt";
  EXPECT_THAT(known_wisdom(options, device_).warnings, ElementsAre(HasSubstr("none.txt")));
}

TEST_F(WisdomFiles, EarlierPlacesGoBeforeLaterOnes) {
  const std::string name = device_.fingerprint() + ".txt";
  put("data/tilewright/wisdom/" + name, wisdom_text(device_, "sm90 a=user"));
  const auto bad = put("bad.txt", "rubbish");
  put("listed/" + name, wisdom_text(device_, "sm90 a=listed"));
  EXPECT_EQ(known_wisdom({}, device_).entries.at(0).program, "sm90 a=user");
  ::setenv("TILEWRIGHT_WISDOM", (bad.string() + ":" + (folder_.path() / "listed").string()).c_str(),
           1);
  const KnownWisdom known = known_wisdom({}, device_);
  ASSERT_EQ(known.entries.size(), 1u);
  EXPECT_EQ(known.entries[0].program, "sm90 a=listed");
  EXPECT_EQ(known.files.size(), 2u);
  EXPECT_THAT(known.warnings, ElementsAre(HasSubstr("bad.txt")));
  Options none;
  none.installed_wisdom = false;
  EXPECT_THAT(known_wisdom(none, device_).entries, IsEmpty());
}

TEST_F(WisdomFiles, WithoutAHomeThereIsNone) {
  ::unsetenv("XDG_DATA_HOME");
  const char* home = std::getenv("HOME");
  const std::string kept = home != nullptr ? home : "";
  for (const char* value : {"", "/", "/nonexistent/nowhere"}) {
    ::setenv("HOME", value, 1);
    EXPECT_THAT(known_wisdom({}, device_).entries, IsEmpty()) << value;
    EXPECT_THAT(known_wisdom({}, device_).warnings, IsEmpty()) << value;
  }
  ::setenv("HOME", kept.c_str(), 1);
}

}  // namespace
}  // namespace tilewright::runtime
