// SPDX-License-Identifier: Apache-2.0
// CudaKernel on the fake driver: occupancy, prepared calls and what is compared at load.
#include "launch/cuda/kernel.h"

#include "fakecuda/fake_cuda.h"

#include <gmock/gmock.h>

#include <span>

namespace tilewright {
namespace {

using ::testing::HasSubstr;

class CudaKernelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto context = cuda::Context::open(0);
    ASSERT_TRUE(context) << context.error().message;
    context_.emplace(std::move(*context));
    launch_.target = "cuda";
    launch_.symbol = "tw_count";
    launch_.cuda.arguments = {"a", "c", "workspace", "i32:M"};
    problem_.m = problem_.n = problem_.k = 64;
  }
  Result<CudaKernel> load(const std::string& kernels = "tw_count 8 8 8 4\n") {
    const std::string image = fake_cubin(kernels);
    return CudaKernel::load(*context_, std::as_bytes(std::span(image)), launch_);
  }

  std::optional<cuda::Context> context_;
  Launch launch_;
  Problem problem_;
};

TEST_F(CudaKernelTest, SlotsAreCtasOrWholeClusters) {
  auto kernel = load();
  ASSERT_TRUE(kernel) << kernel.error().message;
  EXPECT_EQ(kernel->slots(0).value(), 2048 / 128 * 4);
  EXPECT_THAT(kernel->slots(300000).error().message, HasSubstr("shared_bytes=300000"));
  launch_.cuda.cluster = {4, 2, 2};
  auto clustered = load();
  ASSERT_TRUE(clustered) << clustered.error().message;
  EXPECT_EQ(clustered->slots(1024).value(), 2 * 16);
}

TEST_F(CudaKernelTest, ACallIsPreparedOnce) {
  auto kernel = load();
  ASSERT_TRUE(kernel);
  const CudaOperands operands{0x1000, 0x2000, 0x3000, 0x4000};
  const auto first = kernel->prepare(problem_, {64, 64, 64}, operands, 1, 0);
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(*first, kernel->prepare(problem_, {64, 64, 64}, operands, 1, 0).value());
  EXPECT_NE(*first, kernel->prepare(problem_, {63, 64, 64}, operands, 1, 0).value());
  EXPECT_NE(*first, kernel->prepare(problem_, {64, 64, 64}, operands, 2, 0).value());
  CudaOperands others = operands;
  others.c = 0x5000;
  EXPECT_NE(*first, kernel->prepare(problem_, {64, 64, 64}, others, 1, 0).value());
  Problem transposed = problem_;
  transposed.a_transposed = true;
  EXPECT_NE(*first, kernel->prepare(transposed, {64, 64, 64}, operands, 1, 0).value());
  EXPECT_EQ((*first)->call().arguments[3].value, 64U);
}

TEST_F(CudaKernelTest, ManyPreparedCallsDoNotEndTheOnesInUse) {
  auto kernel = load();
  ASSERT_TRUE(kernel);
  const CudaOperands operands{0x1000, 0x2000, 0x3000, 0x4000};
  const auto first = kernel->prepare(problem_, {64, 64, 64}, operands, 1, 0).value();
  for (int i = 0; i < 2000; ++i) {
    ASSERT_TRUE(kernel->prepare(problem_, {64, 64, 64}, operands, 1, static_cast<float>(i)));
  }
  EXPECT_EQ(first->call().arguments[1].value, 0x3000U);
}

TEST_F(CudaKernelTest, LaunchesWithPackedArguments) {
  auto kernel = load();
  ASSERT_TRUE(kernel);
  std::uint32_t c[3] = {};
  const std::uint32_t workspace = 5;
  CudaOperands operands;
  operands.c = reinterpret_cast<cuda::Pointer>(c);
  operands.workspace = reinterpret_cast<cuda::Pointer>(&workspace);
  ASSERT_TRUE(kernel->launch(problem_, {60, 64, 64}, operands, 1, 0, nullptr));
  EXPECT_EQ(c[0], 1U);
  EXPECT_EQ(c[1], 5U);
  EXPECT_EQ(c[2], 60U);
  ASSERT_TRUE(kernel->launch(problem_, {0, 64, 64}, operands, 1, 0, nullptr));  // nothing to do
  EXPECT_EQ(c[0], 1U);
}

TEST_F(CudaKernelTest, ClustersAndChainsAreAttributes) {
  using ::testing::ElementsAre;
  launch_.symbol = "tw_attributes";
  const auto attributes = [this](const std::array<int, 3>& cluster, bool chained) {
    launch_.cuda.cluster = cluster;
    launch_.cuda.grid = {"4", "1", "1"};
    launch_.cuda.chained = chained;
    auto kernel = load("tw_attributes 8 8 8 4\n");
    EXPECT_TRUE(kernel) << kernel.error().message;
    std::array<std::uint32_t, 3> c = {};
    CudaOperands operands;
    operands.c = reinterpret_cast<cuda::Pointer>(c.data());
    EXPECT_TRUE(kernel->launch(problem_, {64, 64, 64}, operands, 1, 0, nullptr));
    return c;
  };
  constexpr std::uint32_t kCluster = cuda::kClusterDimension;
  constexpr std::uint32_t kChain = cuda::kProgrammaticSerialization;
  EXPECT_THAT(attributes({1, 1, 1}, false), ElementsAre(0U, 0U, 0U));
  EXPECT_THAT(attributes({2, 1, 1}, false), ElementsAre(1U, kCluster, 0U));
  EXPECT_THAT(attributes({1, 1, 1}, true), ElementsAre(1U, kChain, 0U));
  EXPECT_THAT(attributes({2, 1, 1}, true), ElementsAre(2U, kCluster, kChain));
}

TEST_F(CudaKernelTest, StepsComeBeforeInOrder) {
  launch_.cuda.before = {{"tw_count", {"1", "1", "1"}, 32, {"a", "c", "workspace", "i32:N"}},
                         {"tw_count", {"2", "1", "1"}, 32, {"b", "c", "workspace", "i32:K"}}};
  auto kernel = load();
  ASSERT_TRUE(kernel) << kernel.error().message;
  std::uint32_t c[3] = {};
  const std::uint32_t workspace = 5;
  CudaOperands operands;
  operands.c = reinterpret_cast<cuda::Pointer>(c);
  operands.workspace = reinterpret_cast<cuda::Pointer>(&workspace);
  ASSERT_TRUE(kernel->launch(problem_, {60, 50, 40}, operands, 1, 0, nullptr));
  EXPECT_EQ(c[0], 3U);
  EXPECT_EQ(c[1], 15U);
  EXPECT_EQ(c[2], 60U);  // the kernel came last
}

TEST_F(CudaKernelTest, StepsAreComparedAtLoad) {
  launch_.cuda.before = {{"tw_refuse", {"1", "1", "1"}, 32, {"a", "i32:N"}}};
  EXPECT_FALSE(load());  // no such kernel
  EXPECT_THAT(load("tw_count 8 8 8 4\ntw_refuse 8 8\n").error().message,
              HasSubstr("tw_refuse arguments[1] 'i32:N' has 4 bytes, the parameter has 8"));
  EXPECT_THAT(load("tw_count 8 8 8 4\ntw_refuse 8\n").error().message, HasSubstr("one too many"));
  EXPECT_THAT(load("tw_count 8 8 8 4\ntw_refuse 8 4 4\n").error().message,
              HasSubstr("more parameters than the launch's 2 tw_refuse arguments"));
  auto kernel = load("tw_count 8 8 8 4\ntw_refuse 8 4\n");
  ASSERT_TRUE(kernel) << kernel.error().message;
  std::uint32_t c[3] = {};
  CudaOperands operands;
  operands.c = reinterpret_cast<cuda::Pointer>(c);
  EXPECT_FALSE(kernel->launch(problem_, {60, 50, 40}, operands, 1, 0, nullptr));
  EXPECT_EQ(c[0], 0U);  // the kernel was not launched
}

TEST_F(CudaKernelTest, MapsAreParametersOf128Bytes) {
  launch_.cuda.maps = {{'a', 64, 64, 128, 256}};
  launch_.cuda.arguments = {"map0", "c"};
  EXPECT_THAT(load("tw_count 8 8\n").error().message,
              HasSubstr("arguments[0] 'map0' has 128 bytes, the parameter has 8"));
  EXPECT_TRUE(load("tw_count 128 8\n"));
}

TEST_F(CudaKernelTest, WhatIsNoCubinIsRefused) {
  const std::string text = "a text that is longer than the header of an object file would be, far";
  EXPECT_THAT(CudaKernel::load(*context_, std::as_bytes(std::span(text)), launch_).error().message,
              HasSubstr("not a cubin"));
  EXPECT_FALSE(CudaKernel::load(*context_, {}, launch_));
}

}  // namespace
}  // namespace tilewright
