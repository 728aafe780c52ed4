// SPDX-License-Identifier: Apache-2.0
// The C functions over a fake device: what they check, count, say and pass on.
#include "runtime/fake_backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace tilewright::runtime {
namespace {

using ::testing::HasSubstr;

class Api : public ::testing::Test {
 protected:
  Api() { tw_gemm_desc_init(&desc_, TW_F16, 4, 8, 16); }
  ~Api() override { tw_destroy(handle_); }

  tw_status gemm(float alpha = 1, float beta = 0) {
    return tw_gemm(handle_, &desc_, alpha, a_.data(), b_.data(), beta, c_.data(), nullptr,
                   &stream_);
  }
  tw_counts counts() {
    tw_counts counts{};
    EXPECT_EQ(tw_get_counts(handle_, &counts), TW_OK);
    return counts;
  }

  FakeDevice device_;
  tw_handle handle_ = handle_of(device_);
  tw_gemm_desc desc_{};
  std::array<std::uint16_t, 256> a_{}, b_{}, c_{};
  int stream_ = 0;
};

TEST_F(Api, ADescriptionBeginsPackedAndSimple) {
  EXPECT_EQ(desc_.size, sizeof desc_);
  const auto call = checked(&desc_);
  ASSERT_TRUE(call) << call.error().message;
  EXPECT_EQ(to_text(problem_of(*call, 1, 0)), "gemm 4x8x16 f16 acc=f32 nn");
  EXPECT_EQ(call->mode, TW_FASTEST);
  EXPECT_EQ(call->activation, TW_NO_ACTIVATION);
  tw_gemm_desc_init(nullptr, TW_F16, 1, 1, 1);  // says nothing, breaks nothing
  tw_options_init(nullptr);
}

TEST_F(Api, PassesACallOnAndCountsIt) {
  for (const Origin origin : {Origin::exact, Origin::nearest, Origin::nearest, Origin::vendor,
                              Origin::built_in, Origin::empty}) {
    device_.answer = origin;
    EXPECT_EQ(gemm(2, 3), TW_OK);
  }
  ASSERT_EQ(device_.ran.size(), 6u);
  const auto& [call, operands] = device_.ran[0];
  EXPECT_EQ(call.k, 16);
  EXPECT_EQ(operands.alpha, 2);
  EXPECT_EQ(operands.beta, 3);
  EXPECT_EQ(operands.a, a_.data());
  EXPECT_EQ(operands.c, c_.data());
  EXPECT_EQ(device_.streams[0], &stream_);
  const tw_counts c = counts();
  EXPECT_EQ(c.exact, 1u);
  EXPECT_EQ(c.nearest, 2u);
  EXPECT_EQ(c.vendor, 1u);
  EXPECT_EQ(c.built_in, 1u);
  EXPECT_EQ(c.empty, 1u);
}

// N03: nothing to compute asks for no pointer and reaches no device.
TEST_F(Api, EmptyProductsNeverReachTheDevice) {
  for (std::int64_t tw_gemm_desc::* size :
       {&tw_gemm_desc::m, &tw_gemm_desc::n, &tw_gemm_desc::batch}) {
    tw_gemm_desc desc = desc_;
    desc.*size = 0;
    EXPECT_EQ(tw_gemm(handle_, &desc, 1, nullptr, nullptr, 1, nullptr, nullptr, nullptr), TW_OK);
    EXPECT_EQ(tw_prepare(handle_, &desc, nullptr), TW_OK);
    std::array<char, 100> text{};
    EXPECT_EQ(tw_explain(handle_, &desc, text.data(), text.size(), nullptr), TW_OK);
    EXPECT_THAT(text.data(), HasSubstr("nothing to compute"));
  }
  EXPECT_TRUE(device_.streams.empty());
  EXPECT_EQ(counts().empty, 3u);
  desc_.k = 0;  // C is still written
  EXPECT_EQ(tw_gemm(handle_, &desc_, 1, nullptr, nullptr, 0, c_.data(), nullptr, nullptr), TW_OK);
  EXPECT_EQ(device_.ran.size(), 1u);
}

TEST_F(Api, WhatIsRefusedReachesNoDeviceAndIsNotCounted) {
  EXPECT_EQ(tw_gemm(handle_, &desc_, 1, c_.data(), b_.data(), 0, c_.data(), nullptr, nullptr),
            TW_ALIASED);
  EXPECT_THAT(tw_last_error(), HasSubstr("c overlaps a"));
  EXPECT_EQ(tw_gemm(handle_, &desc_, 1, nullptr, b_.data(), 0, c_.data(), nullptr, nullptr),
            TW_INVALID);
  EXPECT_THAT(tw_last_error(), HasSubstr("a=NULL"));
  desc_.lda = 3;
  EXPECT_EQ(gemm(), TW_INVALID);
  EXPECT_THAT(tw_last_error(), HasSubstr("lda=3"));
  EXPECT_EQ(tw_prepare(handle_, &desc_, nullptr), TW_INVALID);
  EXPECT_EQ(tw_explain(handle_, &desc_, nullptr, 0, nullptr), TW_INVALID);
  EXPECT_TRUE(device_.streams.empty());
  const tw_counts c = counts();
  EXPECT_EQ(c.exact + c.nearest + c.built_in + c.vendor + c.empty, 0u);
}

TEST_F(Api, ADevicesFailureIsPassedOn) {
  device_.answer = tl::unexpected(Failure{TW_NOT_PREPARED, "needs tw_prepare"});
  EXPECT_EQ(gemm(), TW_NOT_PREPARED);
  EXPECT_STREQ(tw_last_error(), "needs tw_prepare");
  EXPECT_EQ(tw_prepare(handle_, &desc_, nullptr), TW_NOT_PREPARED);
  device_.answer = Origin::exact;
  EXPECT_EQ(gemm(), TW_OK);
  EXPECT_STREQ(tw_last_error(), "needs tw_prepare");  // the last call that failed
}

TEST_F(Api, NoExceptionLeaves) {
  device_.before = [] { throw std::bad_alloc(); };
  EXPECT_EQ(gemm(), TW_OUT_OF_MEMORY);
  device_.before = [] { throw std::runtime_error("odd"); };
  EXPECT_EQ(gemm(), TW_FAILED);
  EXPECT_STREQ(tw_last_error(), "odd");
  device_.before = [] { throw 7; };
  EXPECT_EQ(tw_prepare(handle_, &desc_, nullptr), TW_FAILED);
  EXPECT_EQ(tw_explain(handle_, &desc_, nullptr, 0, nullptr), TW_FAILED);
}

TEST_F(Api, ALongErrorIsCut) {
  device_.answer = tl::unexpected(Failure{TW_FAILED, std::string(5000, 'x')});
  EXPECT_EQ(gemm(), TW_FAILED);
  const std::string said = tw_last_error();
  EXPECT_LT(said.size(), 1100u);
  EXPECT_TRUE(said.ends_with("x..."));
}

TEST_F(Api, EachThreadHasItsOwnError) {
  EXPECT_EQ(tw_prepare(handle_, nullptr, nullptr), TW_INVALID);
  std::thread([] { EXPECT_STREQ(tw_last_error(), ""); }).join();
  EXPECT_THAT(tw_last_error(), HasSubstr("desc=NULL"));
}

TEST(ApiAlone, NullsAreErrorsNotCrashes) {
  tw_gemm_desc desc;
  tw_gemm_desc_init(&desc, TW_BF16, 1, 1, 1);
  tw_counts counts;
  EXPECT_EQ(tw_gemm(nullptr, &desc, 1, nullptr, nullptr, 0, nullptr, nullptr, nullptr), TW_INVALID);
  EXPECT_THAT(tw_last_error(), HasSubstr("handle=NULL"));
  EXPECT_EQ(tw_prepare(nullptr, &desc, nullptr), TW_INVALID);
  EXPECT_EQ(tw_explain(nullptr, &desc, nullptr, 0, nullptr), TW_INVALID);
  EXPECT_EQ(tw_get_counts(nullptr, &counts), TW_INVALID);
  EXPECT_EQ(tw_create(nullptr, nullptr), TW_INVALID);
  tw_destroy(nullptr);
}

TEST(ApiAlone, StatusesAndVersionHaveNames) {
  EXPECT_STREQ(tw_status_name(TW_OK), "TW_OK");
  EXPECT_STREQ(tw_status_name(TW_FAILED), "TW_FAILED");
  EXPECT_STREQ(tw_status_name(-1), "unknown status");
  EXPECT_STREQ(tw_status_name(99), "unknown status");
  EXPECT_EQ(tw_version(), std::to_string(TW_VERSION_MAJOR) + "." +
                              std::to_string(TW_VERSION_MINOR) + "." +
                              std::to_string(TW_VERSION_PATCH));
}

TEST_F(Api, ExplainFillsWhatFits) {
  device_.text = "0123456789\n";
  std::size_t needed = 0;
  EXPECT_EQ(tw_explain(handle_, &desc_, nullptr, 0, &needed), TW_OK);
  EXPECT_EQ(needed, 12u);
  std::string text(5, '#');
  EXPECT_EQ(tw_explain(handle_, &desc_, text.data(), 4, &needed), TW_OK);
  EXPECT_EQ(text, std::string("012\0#", 5));
  EXPECT_EQ(needed, 12u);
  text.assign(12, '#');
  EXPECT_EQ(tw_explain(handle_, &desc_, text.data(), text.size(), nullptr), TW_OK);
  EXPECT_STREQ(text.c_str(), "0123456789\n");
  EXPECT_EQ(tw_explain(handle_, &desc_, nullptr, 1, nullptr), TW_INVALID);
}

// One handle from many threads: counts add up, errors do not mix (run under ThreadSanitizer too).
TEST(ApiThreads, CountsAddUp) {
  struct Silent : Backend {
    tl::expected<void, Failure> prepare(const Call&, void*) override { return {}; }
    tl::expected<Origin, Failure> run(const Call&, const Operands&, void*) override {
      return Origin::exact;
    }
    tl::expected<std::string, Failure> explain(const Call&) override { return ""; }
  };
  auto handle = std::make_unique<tw_handle_s>();
  handle->backend = std::make_unique<Silent>();
  constexpr int kThreads = 4, kCalls = 500;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      tw_gemm_desc desc;
      tw_gemm_desc_init(&desc, TW_F16, 1, 1, 1);
      std::array<std::uint16_t, 3> x{};
      for (int i = 0; i < kCalls; ++i) {
        EXPECT_EQ(tw_gemm(handle.get(), &desc, 1, &x[0], &x[1], 0, &x[2], nullptr, nullptr), TW_OK);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(handle->counted(Origin::exact), std::uint64_t{kThreads} * kCalls);
}

}  // namespace
}  // namespace tilewright::runtime
