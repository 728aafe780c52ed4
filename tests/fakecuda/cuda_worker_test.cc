// SPDX-License-Identifier: Apache-2.0
// The CUDA worker and its runner on a driver made of host memory (driver/fake_driver.cc): what
// crosses the process boundary, which calls are made, and how faults end. No device is needed.
#include "execute/cuda/cuda_worker.h"

#include "fakecuda/fake_cuda.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace tilewright {
namespace {

using ::testing::HasSubstr;

Problem small() {
  Problem problem;
  problem.m = 16;
  problem.n = 24;
  problem.k = 8;
  return problem;
}

class CudaWorkerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "tw-fakecuda-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    auto context = cuda::Context::open(0);
    ASSERT_TRUE(context) << context.error().message;
    context_.emplace(std::move(*context));
    device_.kind = DeviceKind::cuda;
    device_.name = "fake";
    device_.silicon = "fake-sm_90";
    device_.cuda.capability = 90;
    device_.cuda.multiprocessors = 4;
    WorkerOptions options;
    options.call_limit = std::chrono::milliseconds(1500);
    auto worker = CudaWorker::start(options, device_);
    ASSERT_TRUE(worker) << worker.error().message;
    worker_.emplace(std::move(*worker));
    make_arena(4);
  }
  void TearDown() override {
    worker_.reset();
    arena_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  void make_arena(int sets) {
    arena_.reset();
    auto arena = DeviceArena::create(*context_, small(), sets, 4096);
    ASSERT_TRUE(arena) << arena.error().message;
    arena_.emplace(std::move(*arena));
    std::memset(reinterpret_cast<void*>(arena_->base()), 0,
                static_cast<std::size_t>(arena_->layout().bytes));
  }

  // A candidate: the text after the header of a fake cubin, and a launch of `symbol`.
  Binary binary(const std::string& symbol, const std::string& kernels = {}) {
    Binary made;
    made.path = folder_ / "kernel.cubin";
    std::ofstream(made.path, std::ios::binary)
        << fake_cubin(kernels.empty() ? symbol + " 8 8 8 4\n" : kernels);
    made.launch.target = "cuda";
    made.launch.symbol = symbol;
    made.launch.cuda.arguments = {"a", "c", "workspace", "i32:M"};
    return made;
  }

  std::unique_ptr<Session> open(const std::string& symbol) {
    const Binary candidate = binary(symbol);
    auto opened = worker_->open(*arena_, &candidate, {});
    EXPECT_TRUE(opened) << opened.error().message << opened.error().hint;
    if (!opened) return nullptr;
    EXPECT_TRUE(opened->finding.ok()) << opened->finding.rule << " " << opened->finding.detail;
    return std::move(opened->session);
  }
  Finding refused(const Binary& candidate) {
    auto opened = worker_->open(*arena_, &candidate, {});
    if (!opened) return {Outcome::cheat, "error", opened.error().message};
    EXPECT_EQ(opened->session, nullptr);
    return opened->finding;
  }
  [[nodiscard]] std::uint32_t word(int set, int index) const {
    return reinterpret_cast<const std::uint32_t*>(arena_->c(set))[index];
  }
  // Calls counted on each set since the last time.
  std::vector<std::int64_t> counted() const {
    std::vector<std::int64_t> calls;
    for (int set = 0; set < arena_->layout().sets; ++set) {
      calls.push_back(word(set, 0));
      std::memset(reinterpret_cast<void*>(arena_->c(set)), 0, 4);
    }
    return calls;
  }

  std::filesystem::path folder_;
  std::optional<cuda::Context> context_;
  Device device_;
  std::optional<DeviceArena> arena_;
  std::optional<CudaWorker> worker_;
};

TEST_F(CudaWorkerTest, CallsWorkOnTheParentsOperands) {
  const auto session = open("tw_count");
  ASSERT_NE(session, nullptr);
  EXPECT_TRUE(session->call("candidate", 2).ok());
  EXPECT_TRUE(session->call("candidate", 2).ok());
  EXPECT_EQ(word(2, 0), 2U);
  EXPECT_EQ(word(2, 2), 16U);
  EXPECT_EQ(word(0, 0), 0U);
  EXPECT_TRUE(session->call_sizes(7, 24, 8).ok());
  EXPECT_EQ(word(0, 2), 7U);
  EXPECT_EQ(session->call_sizes(17, 24, 8).outcome, Outcome::launch_error);
  EXPECT_EQ(session->call("candidate", 4).rule, "request");
  EXPECT_EQ(session->call("cublas", 0).rule, "request");
  EXPECT_TRUE(session->reprepare().ok());
  EXPECT_TRUE(session->call("candidate", 1).ok());  // all of that is survived
  EXPECT_EQ(worker_->restarts(), 0);
}

TEST_F(CudaWorkerTest, EveryModeMakesTheCallsThatAreCounted) {
  const auto session = open("tw_count");
  ASSERT_NE(session, nullptr);
  const auto burst = [](int calls, int first, bool each, bool wall) {
    Burst b;
    b.contestant = "candidate";
    b.calls = calls;
    b.first_set = first;
    b.each = each;
    b.wall = wall;
    return b;
  };
  Burst gaps = burst(5, 1, false, false);
  gaps.gap_mean_us = 10;
  for (const std::vector<Burst>& plan :
       {std::vector<Burst>{burst(3, 1, false, false)},
        {burst(64, 0, false, false)},
        {burst(150, 3, false, false)},
        {burst(9, 2, false, true)},
        {burst(6, 1, true, false)},
        {gaps},
        {burst(70, 0, false, false), burst(2, 3, true, false), burst(70, 0, false, true)}}) {
    const TimingReply timing = session->time(plan);
    ASSERT_TRUE(timing.finding.ok()) << timing.finding.rule << timing.finding.detail;
    EXPECT_EQ(counted(), calls_per_set(plan, "candidate", 4));
    std::vector<std::int64_t> calls(plan.size());
    for (const Sample& sample : timing.samples) {
      const Burst& of = plan[static_cast<std::size_t>(sample.burst)];
      calls[static_cast<std::size_t>(sample.burst)] += sample.calls;
      EXPECT_GE(sample.seconds, 0);
      // Calls by the device's clock and by the host's take turns.
      EXPECT_EQ(sample.calls, of.each ? 2 : of.calls);
      EXPECT_EQ(sample.latency > 0, of.each);
    }
    for (std::size_t i = 0; i < plan.size(); ++i) EXPECT_EQ(calls[i], plan[i].calls);
    EXPECT_LE(timing.claimed_seconds, timing.wall_seconds + 1e-3);
  }
}

TEST_F(CudaWorkerTest, TheWorkspaceIsZeroedOnceWhereItIsPromised) {
  const auto pattern = [this] {
    std::memset(reinterpret_cast<void*>(arena_->workspace()), 1, 4096);
  };
  pattern();
  arena_->use_workspace(256, 4);
  auto session = open("tw_count");
  ASSERT_NE(session, nullptr);
  EXPECT_TRUE(session->call("candidate", 0).ok());
  EXPECT_EQ(word(0, 1), 0U);
  const auto* const bytes = reinterpret_cast<const unsigned char*>(arena_->workspace());
  EXPECT_EQ(bytes[3], 0);
  EXPECT_EQ(bytes[4], 1);
  pattern();
  EXPECT_TRUE(session->call("candidate", 0).ok());  // the kernel would have left it zero
  EXPECT_EQ(word(0, 1), 0x01010101U);
  session.reset();
  arena_->use_workspace(100, 0);
  Binary greedy = binary("tw_count");
  greedy.launch.workspace = "101";
  const Finding finding = refused(greedy);
  EXPECT_EQ(finding.outcome, Outcome::launch_error);
  EXPECT_THAT(finding.detail, HasSubstr("101 bytes of workspace, 100"));
}

TEST_F(CudaWorkerTest, AHangIsKilledAndTheNextCandidateWorks) {
  auto session = open("tw_hang");
  ASSERT_NE(session, nullptr);
  const Finding finding = session->call("candidate", 0);
  EXPECT_EQ(finding.outcome, Outcome::run_timeout);
  EXPECT_EQ(finding.rule, "call-limit");
  EXPECT_EQ(session->call("candidate", 0).rule, "call-limit");  // it stays over
  session = nullptr;
  session = open("tw_count");
  ASSERT_NE(session, nullptr);
  EXPECT_TRUE(session->call("candidate", 0).ok());
  EXPECT_EQ(worker_->restarts(), 1);
}

TEST_F(CudaWorkerTest, AHangWhileTimedIsNoticed) {
  auto session = open("tw_hang");
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(session->time({{"candidate", 2}}).finding.outcome, Outcome::run_timeout);
}

TEST_F(CudaWorkerTest, AnIllegalAddressIsACrashAndTheNextCandidateWorks) {
  auto session = open("tw_stray");
  ASSERT_NE(session, nullptr);
  const Finding finding = session->call("candidate", 0);
  EXPECT_EQ(finding.outcome, Outcome::crash);
  EXPECT_EQ(finding.rule, "illegal-address");
  EXPECT_THAT(finding.detail, HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS"));
  EXPECT_EQ(session->time({{"candidate"}}).finding.rule, "illegal-address");
  session = nullptr;
  session = open("tw_count");
  ASSERT_NE(session, nullptr);
  EXPECT_TRUE(session->call("candidate", 0).ok());
  EXPECT_EQ(worker_->restarts(), 1);
  session = nullptr;
  session = open("tw_stray");
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(session->time({{"candidate", 3}}).finding.rule, "illegal-address");
}

TEST_F(CudaWorkerTest, ALaunchThatIsRefusedLeavesTheRunnerAlive) {
  auto session = open("tw_refuse");
  ASSERT_NE(session, nullptr);
  const Finding finding = session->call("candidate", 0);
  EXPECT_EQ(finding.outcome, Outcome::launch_error);
  EXPECT_EQ(finding.rule, "launch");
  EXPECT_THAT(finding.detail, HasSubstr("CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"));
  EXPECT_EQ(session->time({{"candidate", 2}}).finding.rule, "launch");
  session = nullptr;
  session = open("tw_count");
  ASSERT_NE(session, nullptr);
  EXPECT_TRUE(session->call("candidate", 0).ok());
  EXPECT_EQ(worker_->restarts(), 0);
}

TEST_F(CudaWorkerTest, WhatCannotBeLaunchedIsRefusedWhenItIsLoaded) {
  struct Case {
    const char *symbol, *kernels, *rule, *part;
  };
  for (const auto& [symbol, kernels, rule, part] : std::vector<Case>{
           {"tw_none", "tw_count 8 8 8 4\n", "cubin", "tw_none"},
           {"tw_count", "tw_count 8 8 8\n", "cubin", "'i32:M' is one too many"},
           {"tw_count", "tw_count 8 8 8 4 4\n", "cubin", "more parameters than the launch's 4"},
           {"tw_count", "tw_count 8 8 8 8\n", "cubin", "arguments[3] 'i32:M' has 4 bytes"}}) {
    const Finding finding = refused(binary(symbol, kernels));
    EXPECT_EQ(finding.outcome, Outcome::launch_error);
    EXPECT_EQ(finding.rule, rule);
    EXPECT_THAT(finding.detail, HasSubstr(part));
  }
  Binary wide = binary("tw_count");
  wide.launch.cuda.grid[1] = "65536";
  EXPECT_THAT(refused(wide).detail, HasSubstr("grid.y=65536"));
  Binary large = binary("tw_count");
  large.launch.cuda.shared_bytes = "232449";
  EXPECT_THAT(refused(large).detail, HasSubstr("shared_bytes=232449"));
  Binary foreign = binary("tw_count");
  foreign.launch.target = "cpu";
  EXPECT_EQ(refused(foreign).rule, "launch");
  Binary text = binary("tw_count");
  std::ofstream(text.path) << "not an object";
  EXPECT_THAT(refused(text).detail, HasSubstr("not a cubin"));
  text.path = folder_ / "absent";
  EXPECT_EQ(refused(text).rule, "unreadable");
  EXPECT_EQ(worker_->restarts(), 0);
}

TEST_F(CudaWorkerTest, EachArenaIsItself) {
  auto session = open("tw_count");
  ASSERT_NE(session, nullptr);
  EXPECT_TRUE(session->call("candidate", 0).ok());
  EXPECT_EQ(word(0, 0), 1U);
  session = nullptr;
  session = open("tw_count");  // the same arena again
  EXPECT_TRUE(session->call("candidate", 0).ok());
  EXPECT_EQ(word(0, 0), 2U);
  session = nullptr;
  make_arena(2);
  session = open("tw_count");
  EXPECT_TRUE(session->call("candidate", 1).ok());
  EXPECT_EQ(word(1, 0), 1U);
  EXPECT_EQ(worker_->restarts(), 0);
}

TEST_F(CudaWorkerTest, OneSessionAtATime) {
  const auto session = open("tw_count");
  EXPECT_FALSE(worker_->open(*arena_, nullptr, {}));
}

// Each tells what it was given as its fourth argument.
TEST_F(CudaWorkerTest, RivalsTakeTurnsWithTheCandidate) {
  Binary candidate = binary("tw_count");
  std::vector<Binary> rivals;
  for (const char* told : {"i32:N", "i32:K"}) {
    rivals.push_back(candidate);
    rivals.back().launch.cuda.arguments[3] = told;
  }
  {
    auto opened = worker_->open(*arena_, &candidate, {}, {}, rivals);
    ASSERT_TRUE(opened) << opened.error().message;
    ASSERT_NE(opened->session, nullptr) << opened->finding.detail;
    Session& session = *opened->session;
    const std::vector<std::pair<std::string, std::uint32_t>> told = {
        {rival_name(2), 8U}, {"candidate", 16U}, {rival_name(1), 24U}, {"candidate", 16U}};
    for (const auto& [name, size] : told) {
      EXPECT_TRUE(session.call(name, 1).ok());
      EXPECT_EQ(word(1, 2), size) << name;
      EXPECT_TRUE(session.time({{name, 70}}).finding.ok());
      EXPECT_EQ(word(3, 2), size) << name << ", by its own graphs";
    }
    EXPECT_THAT(session.call(rival_name(3), 0).detail,
                HasSubstr("there is candidate rival.1 rival.2"));
    EXPECT_TRUE(session.call_sizes(7, 24, 8).ok());
    EXPECT_EQ(word(0, 2), 7U) << "the candidate's, whose sizes are run-time arguments";
  }
  const auto alone = open("tw_count");
  EXPECT_EQ(alone->call(rival_name(1), 0).rule, "request") << "they leave with their session";
  EXPECT_EQ(worker_->restarts(), 0);
}

TEST_F(CudaWorkerTest, EachTurnFindsTheWorkspaceAsPromised) {
  arena_->use_workspace(256, 4);
  const Binary candidate = binary("tw_count");
  auto opened = worker_->open(*arena_, &candidate, {}, {}, {&candidate, 1});
  ASSERT_TRUE(opened && opened->session);
  for (const std::string& name : {rival_name(1), std::string("candidate")}) {
    const auto dirty = [this] {
      std::memset(reinterpret_cast<void*>(arena_->workspace()), 1, 4096);
    };
    dirty();
    EXPECT_TRUE(opened->session->call(name, 0).ok());
    dirty();
    EXPECT_TRUE(opened->session->time({{name, 3}}).finding.ok());
    EXPECT_EQ(word(0, 1), 0U) << name;
    EXPECT_EQ(reinterpret_cast<const unsigned char*>(arena_->workspace())[4], 1);
  }
}

TEST_F(CudaWorkerTest, WhatARivalBreaksIsItsOwn) {
  Binary candidate = binary("tw_count", "tw_count 8 8 8 4\ntw_hang 8 8 8 4\n");
  Binary rival = candidate;
  rival.launch.symbol = "tw_hang";
  auto opened = worker_->open(*arena_, &candidate, {}, {}, {&rival, 1});
  ASSERT_TRUE(opened && opened->session);
  EXPECT_TRUE(opened->session->time({{"candidate", 2}}).finding.ok());
  const TimingReply hung = opened->session->time({{rival_name(1), 2}});
  EXPECT_EQ(hung.finding.outcome, Outcome::run_timeout);
  EXPECT_THAT(hung.finding.detail, HasSubstr("rival.1"));
  opened->session = nullptr;
  rival.path = folder_ / "absent";
  EXPECT_EQ(worker_->open(*arena_, &candidate, {}, {}, {&rival, 1})->finding.rule, "unreadable");
  rival = candidate;
  rival.launch.symbol = "tw_none";
  EXPECT_EQ(worker_->open(*arena_, &candidate, {}, {}, {&rival, 1})->finding.rule, "cubin");
  const std::vector<Binary> many(kMostRivals + 1, candidate);
  EXPECT_FALSE(worker_->open(*arena_, &candidate, {}, {}, many));
  EXPECT_FALSE(worker_->open(*arena_, nullptr, {}, {}, {&candidate, 1}));
  EXPECT_TRUE(worker_->open(*arena_, &candidate, {}, {}, {many.data(), kMostRivals})->session);
}

TEST_F(CudaWorkerTest, LibrariesThatAreNotThereAreAnErrorOfTheMachine) {
  const auto opened = worker_->open(*arena_, nullptr, {"no_such_library"});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::environment);
  EXPECT_THAT(opened.error().message, HasSubstr("baselines: "));
}

}  // namespace
}  // namespace tilewright
