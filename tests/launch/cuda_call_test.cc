// SPDX-License-Identifier: Apache-2.0
// A launch evaluated for a call: numbers as the driver will get them, and every refusal.
#include "launch/cuda/call.h"

#include <gmock/gmock.h>

#include <bit>
#include <functional>
#include <string>
#include <vector>

namespace tilewright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Setting {
  Launch launch;
  Problem problem;
  GemmShape sizes{256, 384, 128};
  CudaOperands operands{0x10000, 0x20000, 0x30000, 0x40000};
  float alpha = 1, beta = 0;

  Setting() {
    problem.m = 256;
    problem.n = 384;
    problem.k = 128;
    launch.target = "cuda";
    launch.symbol = "k";
    launch.workspace = "M*4";
    launch.cuda.grid = {"cdiv(N,128)", "cdiv(M,128)", "batch"};
    launch.cuda.threads = 256;
    launch.cuda.shared_bytes = "threads*64";
    launch.cuda.zeroed = "64";
    launch.cuda.maps = {{'a', 64, 128, 128, 256}, {'b', 64, 64, 128, 128}, {'c', 32, 64, 64, 0}};
    launch.cuda.arguments = {"map0", "map2", "c", "workspace", "alpha", "beta", "i32:K", "i64:sa"};
    launch.cuda.alignment = 8;
  }
  [[nodiscard]] Result<CudaCall> resolve(std::int64_t slots = 264) const {
    return tilewright::resolve(launch, problem, sizes, operands, alpha, beta, 132, slots);
  }
};

TEST(CudaCallTest, NumbersAreTheProblems) {
  Setting s;
  s.alpha = 2;
  s.beta = 0.5F;
  const auto call = s.resolve();
  ASSERT_TRUE(call) << call.error().message;
  EXPECT_FALSE(call->empty);
  EXPECT_THAT(call->grid, ElementsAre(3, 2, 1));
  EXPECT_THAT(call->cluster, ElementsAre(1, 1, 1));
  EXPECT_EQ(call->threads, 256U);
  EXPECT_EQ(call->shared_bytes, 256U * 64);
  EXPECT_EQ(call->workspace_bytes, 1024);
  EXPECT_EQ(call->zeroed_bytes, 64);
  ASSERT_EQ(call->maps.size(), 3U);
  const MapDescription& a = call->maps[0];
  EXPECT_EQ(a.address, 0x10000U);
  EXPECT_EQ(a.type, cuda::kTensorF16);
  EXPECT_THAT(a.dimensions, ElementsAre(128, 256, 1));
  EXPECT_THAT(a.strides, ElementsAre(256, 256 * 256));
  EXPECT_THAT(a.box, ElementsAre(64, 128, 1));
  EXPECT_EQ(a.swizzle, cuda::kSwizzle128);
  EXPECT_EQ(a.promotion, cuda::kPromote256);
  EXPECT_THAT(call->maps[1].dimensions, ElementsAre(384, 128, 1));
  EXPECT_EQ(call->maps[1].promotion, cuda::kPromote128);
  EXPECT_EQ(call->maps[2].swizzle, cuda::kSwizzle64);
  EXPECT_EQ(call->maps[2].promotion, cuda::kPromoteNone);
  EXPECT_THAT(call->arguments, ElementsAre(CudaArgument{128, 0, 0}, CudaArgument{128, 0, 2},
                                           CudaArgument{8, 0x30000}, CudaArgument{8, 0x40000},
                                           CudaArgument{4, std::bit_cast<std::uint32_t>(2.0F)},
                                           CudaArgument{4, std::bit_cast<std::uint32_t>(0.5F)},
                                           CudaArgument{4, 128}, CudaArgument{8, 256 * 128}));
}

TEST(CudaCallTest, TransposedStridedAndBatched) {
  Setting s;
  s.problem.a_transposed = s.problem.b_transposed = true;
  s.problem.batch = 3;
  s.problem.in = s.problem.out = ElementType::bf16;
  s.problem.lda = 264;
  const auto call = s.resolve();
  ASSERT_TRUE(call) << call.error().message;
  EXPECT_EQ(call->grid[2], 3U);
  EXPECT_EQ(call->maps[0].type, cuda::kTensorBf16);
  EXPECT_THAT(call->maps[0].dimensions, ElementsAre(256, 128, 3));
  EXPECT_THAT(call->maps[0].strides, ElementsAre(528, 128 * 528));
  EXPECT_THAT(call->maps[1].dimensions, ElementsAre(128, 384, 3));
}

TEST(CudaCallTest, RaggedCallsShrinkDimensionsAndKeepStrides) {
  Setting s;
  s.sizes = {255, 377, 121};
  const auto call = s.resolve();
  ASSERT_TRUE(call) << call.error().message;
  EXPECT_THAT(call->maps[0].dimensions, ElementsAre(121, 255, 1));
  EXPECT_THAT(call->maps[0].strides, ElementsAre(256, 256 * 256));
  EXPECT_THAT(call->maps[1].dimensions, ElementsAre(377, 121, 1));
  EXPECT_THAT(call->maps[1].strides, ElementsAre(768, 128 * 768));
  EXPECT_EQ(call->arguments[6].value, 121U);
  EXPECT_EQ(call->arguments[7].value, 256U * 128);
}

TEST(CudaCallTest, NothingToWriteIsNoLaunch) {
  for (const GemmShape sizes : {GemmShape{0, 384, 128}, GemmShape{256, 0, 128}}) {
    Setting s;
    s.sizes = sizes;
    EXPECT_TRUE(s.resolve().value().empty);
  }
  Setting s;
  s.problem.batch = 0;
  EXPECT_TRUE(s.resolve().value().empty);
}

TEST(CudaCallTest, NothingToAddIsALaunchWithEncodableMaps) {
  Setting s;
  s.problem.k = s.sizes.k = 0;
  const auto call = s.resolve();
  ASSERT_TRUE(call) << call.error().message;
  EXPECT_FALSE(call->empty);
  EXPECT_THAT(call->maps[0].dimensions, ElementsAre(1, 256, 1));
  EXPECT_THAT(call->maps[0].strides, ElementsAre(16, 16));
}

TEST(CudaCallTest, SlotsAndSmsAreKnown) {
  Setting s;
  s.launch.cuda.grid = {"min(slots,sms)", "1", "1"};
  s.launch.cuda.cluster = {2, 1, 1};
  s.launch.workspace = "slots*8";
  const auto call = s.resolve(24);
  ASSERT_TRUE(call) << call.error().message;
  EXPECT_EQ(call->grid[0], 24U);
  EXPECT_THAT(call->cluster, ElementsAre(2, 1, 1));
  EXPECT_EQ(call->workspace_bytes, 192);
  EXPECT_EQ(zeroed_bytes(s.launch, s.problem, 132, 24).value(), 64);
}

// A is copied to rows of whole 16 bytes, then described there.
void copy_a(Setting& s) {
  s.problem.k = s.sizes.k = 125;
  s.problem.batch = 3;
  s.launch.cuda.alignment = 1;
  s.launch.workspace = "4096+M*roundup(K,8)*batch*2";
  s.launch.cuda.maps[0].copy = {"4096", "roundup(K,8)", "M*roundup(K,8)", "batch"};
  s.launch.cuda.before = {
      {"copy", {"cdiv(M,100)", "1", "batch"}, 64, {"workspace", "a", "i64:lda", "beta"}}};
}

TEST(CudaCallTest, AMapOfACopyLiesInTheWorkspace) {
  Setting s;
  copy_a(s);
  s.sizes.m = 201;
  s.beta = 0.5F;
  const auto call = s.resolve();
  ASSERT_TRUE(call) << call.error().message;
  const MapDescription& a = call->maps[0];
  EXPECT_EQ(a.address, 0x41000U);
  EXPECT_THAT(a.dimensions, ElementsAre(125, 201, 3));
  EXPECT_THAT(a.strides, ElementsAre(256, 201 * 256));
  EXPECT_EQ(call->workspace_bytes, 4096 + 201 * 128 * 3 * 2);
  ASSERT_EQ(call->before.size(), 1U);
  EXPECT_THAT(call->before[0].grid, ElementsAre(3, 1, 3));
  EXPECT_EQ(call->before[0].threads, 64U);
  EXPECT_THAT(call->before[0].arguments,
              ElementsAre(CudaArgument{8, 0x40000}, CudaArgument{8, 0x10000}, CudaArgument{8, 125},
                          CudaArgument{4, std::bit_cast<std::uint32_t>(0.5F)}));
  s.launch.cuda.maps[0].copy->entries = "1";
  EXPECT_EQ(s.resolve().value().maps[0].dimensions[2], 1U);
}

TEST(CudaCallTest, WhatHasStepsBeforeIsNotChained) {
  Setting s;
  EXPECT_FALSE(s.resolve().value().chained);
  s.launch.cuda.chained = true;
  EXPECT_TRUE(s.resolve().value().chained);
  copy_a(s);
  EXPECT_FALSE(s.resolve().value().chained);
}

TEST(CudaCallTest, Refusals) {
  struct Case {
    const char* part;
    std::function<void(Setting&)> change;
  };
  for (const auto& [part, change] : std::vector<Case>{
           {"sizes 257x384x128 are not within", [](Setting& s) { s.sizes.m = 257; }},
           {"sizes 256x384x-1 are not within", [](Setting& s) { s.sizes.k = -1; }},
           {"serves M=64 only", [](Setting& s) { s.launch.m = 64; }},
           {"serves K=128 only",
            [](Setting& s) {
              s.launch.k = 128;
              s.sizes.k = 127;
            }},
           {"grid.x=3 ('cdiv(N,128)') is not a multiple of the cluster's 2",
            [](Setting& s) { s.launch.cuda.cluster = {2, 1, 1}; }},
           {"grid.y=0 ('M-256') is not in [1, 65535]",
            [](Setting& s) { s.launch.cuda.grid[1] = "M-256"; }},
           {"grid.y=65536", [](Setting& s) { s.launch.cuda.grid[1] = "65536"; }},
           {"grid.x=2147483648", [](Setting& s) { s.launch.cuda.grid[0] = "2147483648"; }},
           {"grid.z: ", [](Setting& s) { s.launch.cuda.grid[2] = "M-257"; }},
           {"shared_bytes: ", [](Setting& s) { s.launch.cuda.shared_bytes = "cdiv(M,0)"; }},
           {"more than any CTA has", [](Setting& s) { s.launch.cuda.shared_bytes = "4294967296"; }},
           {"zeroed=2048 is more than workspace=1024",
            [](Setting& s) { s.launch.cuda.zeroed = "2048"; }},
           {"ldc=388 is not a multiple of alignment=8", [](Setting& s) { s.problem.ldc = 388; }},
           {"the address 0x20008 of b is not aligned to 16 bytes",
            [](Setting& s) { s.operands.b = 0x20008; }},
           {"map0: the row stride of a is 260 bytes",
            [](Setting& s) {
              s.launch.cuda.alignment = 1;
              s.problem.lda = 130;
            }},
           {"map1: the address 0x20008 of b",
            [](Setting& s) {
              s.launch.cuda.alignment = 1;
              s.operands.b = 0x20008;
            }},
           {"map2: 32 columns of f32 are 128 bytes, more than swizzle=64",
            [](Setting& s) { s.problem.out = ElementType::f32; }},
           {"map0: the row stride of a is 1099511627776 bytes",
            [](Setting& s) { s.problem.lda = std::int64_t{1} << 39; }},
           {"argument 'i32:K'=4294967296 does not fit 32 bits",
            [](Setting& s) {
              s.launch.cuda.maps.clear();
              s.launch.cuda.arguments = {"i32:K"};
              s.problem.k = s.sizes.k = std::int64_t{1} << 32;
            }},
           {"before[0].grid.x=0",
            [](Setting& s) {
              copy_a(s);
              s.launch.cuda.before[0].grid[0] = "M-256";
            }},
           {"map0: the row stride of the copy is 250 bytes",
            [](Setting& s) {
              copy_a(s);
              s.launch.cuda.maps[0].copy->row_stride = "K";
            }},
           {"map0: the address 0x40008 of the copy",
            [](Setting& s) {
              copy_a(s);
              s.launch.cuda.maps[0].copy->offset = "8";
            }},
           {"map0.copy: ",
            [](Setting& s) {
              copy_a(s);
              s.launch.cuda.maps[0].copy->entries = "cdiv(M,0)";
            }},
           {"argument 'map3' is not known",
            [](Setting& s) { s.launch.cuda.arguments = {"map3"}; }}}) {
    Setting s;
    change(s);
    const auto call = s.resolve();
    ASSERT_FALSE(call) << part;
    EXPECT_EQ(call.error().code, ErrorCode::usage);
    EXPECT_THAT(call.error().message, HasSubstr(part));
  }
}

TEST(CudaCallTest, TheBoundOfSlotsFollowsThreadsAndSharedMemory) {
  Setting s;
  CudaFacts device;
  device.multiprocessors = 132;
  device.shared_per_multiprocessor = 233472;
  s.launch.cuda.shared_bytes = "0";
  EXPECT_EQ(slots_bound(s.launch, s.problem, device), 132 * 8);
  s.launch.cuda.threads = 32;
  EXPECT_EQ(slots_bound(s.launch, s.problem, device), 132 * 32);
  s.launch.cuda.shared_bytes = "200*1024";
  EXPECT_EQ(slots_bound(s.launch, s.problem, device), 132);
}

}  // namespace
}  // namespace tilewright
