// SPDX-License-Identifier: Apache-2.0
// Algorithms of the vendor's library that one process chose and another takes, through the runner
// and on libraries that compute nothing (driver/fake_vendor.cc).
#include "base/scratch_folder.h"
#include "execute/cuda/cuda_worker.h"

#include "fakecuda/fake_cuda.h"
#include "vendor/exact_algo.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

namespace tilewright {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kStamp = "cublasLt 13.1.2 sm_90x4";
const std::vector<std::string> kNames = {"cublas", "cublaslt_heuristic", "cublaslt_autotune",
                                         "cublaslt_neighbours"};

class RecallTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* library : {"libcublas.so.13", "libcublasLt.so.13"}) {
      std::filesystem::create_symlink(TILEWRIGHT_FAKE_VENDOR, folder_.path() / library);
    }
    setenv("TILEWRIGHT_CUDA_LIBRARIES", folder_.path().c_str(), 1);
    auto context = cuda::Context::open(0);
    ASSERT_TRUE(context) << context.error().message;
    context_.emplace(std::move(*context));
    device_.kind = DeviceKind::cuda;
    device_.name = "fake";
    device_.cuda.capability = 90;
    device_.cuda.multiprocessors = 4;
    Problem problem;
    problem.m = 16;
    problem.n = 24;
    problem.k = 8;
    auto arena = DeviceArena::create(*context_, problem, 2, 4096);
    ASSERT_TRUE(arena) << arena.error().message;
    arena_.emplace(std::move(*arena));
    std::memset(reinterpret_cast<void*>(arena_->base()), 0,
                static_cast<std::size_t>(arena_->layout().bytes));
  }
  void TearDown() override {
    arena_.reset();
    unsetenv("TILEWRIGHT_CUDA_LIBRARIES");
  }

  // In a process of its own: nothing is remembered there.
  Opened opened_with(const std::map<std::string, std::string>& algorithms) {
    auto worker = CudaWorker::start({}, device_);
    EXPECT_TRUE(worker) << worker.error().message;
    auto opened = worker->open(*arena_, nullptr, kNames, algorithms);
    EXPECT_TRUE(opened) << opened.error().message << opened.error().hint;
    if (!opened) return {};
    opened->session.reset();
    EXPECT_EQ(opened->choices.size(), kNames.size());
    EXPECT_EQ(opened->algorithms.size(), kNames.size());
    return std::move(*opened);
  }
  // What the autotuned baseline makes of an algorithm that it is given.
  std::string choice_of(const std::string& algorithm) {
    const Opened opened = opened_with({{"cublaslt_autotune", algorithm}});
    return opened.choices.empty() ? std::string() : opened.choices[2];
  }
  static std::string exact(std::uint64_t id) { return vendor::exact_text({{id}}, kStamp); }

  ScratchFolder folder_;
  std::optional<cuda::Context> context_;
  Device device_;
  std::optional<DeviceArena> arena_;
};

TEST_F(RecallTest, WhatWasChosenIsTakenAsItIs) {
  const Opened first = opened_with({});
  ASSERT_EQ(first.algorithms.size(), kNames.size());
  EXPECT_EQ(first.algorithms[0], "") << "cuBLAS has no choice";
  EXPECT_EQ(first.algorithms[1], exact(1)) << "the first suggestion";
  EXPECT_THAT(first.choices[2], HasSubstr("3 returned, 3 valid"));

  const std::string told = vendor::exact_text({{5, 0, 42}}, kStamp);  // no suggestion at all
  const Opened second = opened_with({{"cublaslt_heuristic", told},
                                     {"cublaslt_autotune", first.algorithms[2]},
                                     {"cublaslt_neighbours", first.algorithms[3]}});
  ASSERT_EQ(second.algorithms.size(), kNames.size());
  EXPECT_EQ(second.algorithms[1], told);
  EXPECT_EQ(second.algorithms[2], first.algorithms[2]);
  EXPECT_EQ(second.algorithms[3], first.algorithms[3]);
  EXPECT_THAT(second.choices[1], StartsWith("algo=5 "));
  for (std::size_t i = 1; i < kNames.size(); ++i) {
    EXPECT_THAT(second.choices[i], HasSubstr("(as chosen before)"));
  }
}

TEST_F(RecallTest, WhatCannotBeTakenIsChosenAnewAndSaysWhy) {
  EXPECT_THAT(choice_of(vendor::exact_text({{2}}, "cublasLt 13.0.0 sm_90x4")),
              HasSubstr("(chosen anew: it was of 'cublasLt 13.0.0 sm_90x4', this is"));
  EXPECT_THAT(choice_of(exact(7)), HasSubstr("(chosen anew: sampled row 0 column 0 is"));
  EXPECT_THAT(choice_of(exact(8)), HasSubstr("(chosen anew: checking an algorithm"));
  EXPECT_THAT(choice_of("nonsense"), HasSubstr("(chosen anew: it was of "));
}

// The graphs of baselines outlive a candidate's session, and those of other operands do not.
TEST_F(RecallTest, BaselinesKeepTheirGraphsFromCandidateToCandidate) {
  auto worker = CudaWorker::start({}, device_);
  ASSERT_TRUE(worker) << worker.error().message;
  Burst burst;
  burst.contestant = "cublas";
  burst.calls = 70;
  const auto timed = [&](const std::vector<std::string>& names) {
    auto opened = worker->open(*arena_, nullptr, names);
    ASSERT_TRUE(opened) << opened.error().message;
    for (const std::string& name : names) {
      burst.contestant = name;
      const TimingReply reply = opened->session->time({burst, burst});
      EXPECT_TRUE(reply.finding.ok()) << reply.finding.detail;
      EXPECT_EQ(reply.samples.size(), 2U);
    }
  };
  timed({"cublas", "cublaslt_heuristic"});
  timed({"cublas", "cublaslt_heuristic"});
  timed({"cublaslt_heuristic", "cublas"});  // the same numbers for others
  timed({"cublas"});
  EXPECT_EQ(worker->restarts(), 0);
}

}  // namespace
}  // namespace tilewright
