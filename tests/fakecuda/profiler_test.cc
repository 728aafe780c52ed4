// SPDX-License-Identifier: Apache-2.0
// A whole profile without a device: the real runner on the fake driver, under an ncu of shell.
#include "profile/profiler.h"
#include "base/scratch_folder.h"

#include "fakecuda/fake_cuda.h"
#include "fakecuda/fake_ncu.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>

namespace tilewright {
namespace {

namespace fs = std::filesystem;

class ProfilerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    setenv("TILEWRIGHT_NCU", write_fake_ncu(folder_.path()).c_str(), 1);
    setenv("TILEWRIGHT_FAKE_PROFILER", (folder_.path() / "trace").c_str(), 1);
    std::ofstream(folder_.path() / "known") << "gpu__time_duration Counter ns x\n"
                                               "gpu__dram_throughput Throughput % x\n";
    device_.kind = DeviceKind::cuda;
    device_.name = "fake";
    device_.silicon = "fake-sm_90";
    device_.l2_bytes = 1 << 20;
    device_.cuda.capability = 90;
    device_.cuda.multiprocessors = 4;
    device_.cuda.memory_bytes = std::int64_t{1} << 30;
    problem_.m = 16;
    problem_.n = 24;
    problem_.k = 8;
  }
  void TearDown() override {
    unsetenv("TILEWRIGHT_NCU");
    unsetenv("TILEWRIGHT_FAKE_PROFILER");
  }

  Binary binary(const std::string& symbol) {
    Binary made;
    made.path = folder_.path() / "kernel.cubin";
    std::ofstream(made.path, std::ios::binary) << fake_cubin(symbol + " 8 8 8 4\n");
    made.launch.target = "cuda";
    made.launch.symbol = symbol;
    made.launch.workspace = "256";
    made.launch.cuda.arguments = {"a", "c", "workspace", "i32:M"};
    made.cubin.registers = 96;
    return made;
  }
  Result<Profiled> take(const std::string& symbol, CacheState caches = CacheState::as_timed) {
    ProfilerOptions options;
    options.caches = caches;
    options.warm_calls = 2;
    options.log = [this](const std::string& line) { said_ += line + "\n"; };
    auto profiler = Profiler::open(device_, options);
    if (!profiler) return tl::unexpected(profiler.error());
    return profiler->candidate(problem_, binary(symbol));
  }
  [[nodiscard]] std::string content(const char* name) const {
    std::ifstream file(folder_.path() / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  ScratchFolder folder_;
  Device device_;
  Problem problem_;
  std::string said_;
};

TEST_F(ProfilerTest, ACandidate) {
  const auto profiled = take("tw_count");
  ASSERT_TRUE(profiled) << profiled.error().message << profiled.error().hint;
  ASSERT_TRUE(profiled->finding.ok()) << profiled->finding.rule << profiled->finding.detail;
  EXPECT_GT(profiled->time_us, 0);
  EXPECT_EQ(profiled->profile.tool, "ncu 2025.3.1.0");
  EXPECT_EQ(profiled->profile.kernels.size(), 2U);
  EXPECT_EQ(profiled->profile.values.at("duration_us"), 0.002);
  EXPECT_EQ(profiled->profile.values.count("dram_pct"), 1U);
  EXPECT_EQ(profiled->profile.values.count("l2_pct"), 0U);
  EXPECT_EQ(profiled->profile.values.count("spill_bytes"), 1U);
  EXPECT_NE(said_.find("l2_pct"), std::string::npos) << said_;
}

// Exactly one call lies between the marks, after the warm ones.
TEST_F(ProfilerTest, TheMarksEncloseOneCall) {
  ASSERT_TRUE(take("tw_count"));
  const std::string trace = content("trace");
  const std::string end = "call\ncall\nstart\ncall\nstop\n";
  ASSERT_GE(trace.size(), end.size());
  EXPECT_EQ(trace.substr(trace.size() - end.size()), end);
  EXPECT_EQ(trace.find("start"), trace.rfind("start"));
}

TEST_F(ProfilerTest, CachesAreFlushedAsTimingMeetsThem) {
  ASSERT_TRUE(take("tw_count"));
  EXPECT_NE(content("arguments").find("--cache-control none"), std::string::npos);
  problem_.m = problem_.n = 512;  // 32 sets exceed the cache
  ASSERT_TRUE(take("tw_count"));
  EXPECT_NE(content("arguments").find("--cache-control all"), std::string::npos);
  ASSERT_TRUE(take("tw_count", CacheState::keep));
  EXPECT_NE(content("arguments").find("--cache-control none"), std::string::npos);
}

TEST_F(ProfilerTest, WhatACandidateDoesWrongIsAFinding) {
  const auto stray = take("tw_stray");
  ASSERT_TRUE(stray) << stray.error().message;
  EXPECT_EQ(stray->finding.outcome, Outcome::crash);
  EXPECT_EQ(stray->finding.rule, "illegal-address");
  const auto refused = take("tw_refuse");
  ASSERT_TRUE(refused) << refused.error().message;
  EXPECT_EQ(refused->finding.outcome, Outcome::launch_error);
}

TEST_F(ProfilerTest, WhatTheToolDoesWrongIsAnError) {
  std::ofstream(folder_.path() / "mode") << "perm\n";
  const auto profiled = take("tw_count");
  ASSERT_FALSE(profiled);
  EXPECT_NE(profiled.error().message.find("ERR_NVGPUCTRPERM"), std::string::npos);
  setenv("TILEWRIGHT_NCU", (folder_.path() / "nothing").c_str(), 1);
  const auto absent = take("tw_count");
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, ErrorCode::environment);
}

TEST_F(ProfilerTest, ACpuHasNoNcu) {
  device_.kind = DeviceKind::cpu;
  EXPECT_FALSE(take("tw_count"));
}

}  // namespace
}  // namespace tilewright
