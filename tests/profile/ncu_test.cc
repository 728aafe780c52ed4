// SPDX-License-Identifier: Apache-2.0
// Finding ncu, asking it what it knows, and what its failures are turned into. The ncu of these
// tests is a shell script (fakecuda/fake_ncu.h).
#include "profile/ncu.h"
#include "base/scratch_folder.h"

#include "fakecuda/fake_ncu.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

namespace tilewright {
namespace {

namespace fs = std::filesystem;

class NcuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    write_fake_ncu(folder_.path());
    std::ofstream(folder_.path() / "known")
        << "Device x\ngpu__time_duration  Counter ns  duration\n";
    setenv("TILEWRIGHT_NCU", (folder_.path() / "ncu").c_str(), 1);
  }
  void TearDown() override { unsetenv("TILEWRIGHT_NCU"); }
  void mode(const std::string& text) const {
    std::ofstream(folder_.path() / "mode") << text << "\n";
  }
  [[nodiscard]] Ncu::Request request(const std::string& program = "true") const {
    Ncu::Request made;
    made.metrics = {"gpu__time_duration.sum", "launch__registers_per_thread", "a__b.avg"};
    made.program = {program};
    made.log = folder_.path() / "log";
    return made;
  }

  ScratchFolder folder_;
};

TEST_F(NcuTest, TellsItsVersionAndWhatItKnows) {
  const auto ncu = Ncu::find();
  ASSERT_TRUE(ncu) << ncu.error().message;
  EXPECT_EQ(ncu->path(), folder_.path() / "ncu");
  EXPECT_EQ(ncu->version(), "2025.3.1.0");
  EXPECT_EQ(ncu->metrics(90),
            (std::vector<std::string>{"gpu__time_duration", "launch__registers_per_thread"}));
  std::ofstream(folder_.path() / "known") << "==ERROR== unknown chip\n";
  EXPECT_TRUE(ncu->metrics(90).empty());
}

TEST_F(NcuTest, ProfilesAndReads) {
  const auto ncu = Ncu::find();
  ASSERT_TRUE(ncu);
  const auto answer = ncu->profile(request());
  ASSERT_TRUE(answer) << answer.error().message;
  ASSERT_EQ(answer->report.kernels.size(), 2U);
  EXPECT_EQ(answer->report.kernels[1].name, "void k<(int)1, \"x\">(A, B)");
  EXPECT_EQ(answer->report.kernels[1].metrics.at("a__b.avg").value, 3);
  std::ifstream file(folder_.path() / "arguments");
  const std::string arguments{std::istreambuf_iterator<char>(file), {}};
  for (const char* wanted : {"--clock-control none", "--profile-from-start off",
                             "--cache-control all", "--print-units base"}) {
    EXPECT_NE(arguments.find(wanted), std::string::npos) << arguments;
  }
}

TEST_F(NcuTest, AMetricThatIsRefusedIsDropped) {
  mode("refuse a__b.avg");
  const auto ncu = Ncu::find();
  ASSERT_TRUE(ncu);
  const auto answer = ncu->profile(request());
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->dropped, std::vector<std::string>{"a__b.avg"});
  EXPECT_EQ(answer->report.kernels.size(), 2U);
}

TEST_F(NcuTest, CountersThatMayNotBeReadAreAnErrorWithTheFix) {
  mode("perm");
  const auto answer = Ncu::find()->profile(request());
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::environment);
  EXPECT_NE(answer.error().message.find("ERR_NVGPUCTRPERM"), std::string::npos);
  EXPECT_NE(answer.error().hint.find("NVreg_RestrictProfilingToAdminUsers=0"), std::string::npos);
}

TEST_F(NcuTest, NothingProfiledAndAFailedProgramAreErrors) {
  mode("none");
  EXPECT_FALSE(Ncu::find()->profile(request()));
  mode("");
  const auto answer = Ncu::find()->profile(request("false"));
  ASSERT_FALSE(answer);
  EXPECT_NE(answer.error().message.find("returned an error code"), std::string::npos)
      << answer.error().message;
}

TEST_F(NcuTest, AbsenceIsAnErrorThatSaysHowToGetOne) {
  setenv("TILEWRIGHT_NCU", (folder_.path() / "nothing").c_str(), 1);
  EXPECT_FALSE(Ncu::find());
  unsetenv("TILEWRIGHT_NCU");
  const std::string path = std::getenv("PATH");
  setenv("PATH", (folder_.path() / "empty").c_str(), 1);
  const auto absent = Ncu::find(folder_.path() / "root");
  // The newest of several versions, where PATH has none.
  for (const char* version : {"2024.3.2", "2025.3.1", "2025.10.0"}) {
    const fs::path place = folder_.path() / "root/opt/nvidia/nsight-compute" / version;
    fs::create_directories(place);
    fs::copy_file(folder_.path() / "ncu", place / "ncu");
  }
  const auto found = Ncu::find(folder_.path() / "root");
  setenv("PATH", path.c_str(), 1);
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, ErrorCode::environment);
  EXPECT_NE(absent.error().hint.find("TILEWRIGHT_NCU"), std::string::npos);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->path().parent_path().filename(), "2025.10.0");
}

}  // namespace
}  // namespace tilewright
