// SPDX-License-Identifier: Apache-2.0
// Neighbours of an algorithm, from invented capabilities.
#include "vendor/algo_config.h"
#include "vendor/lt_matmul.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace tilewright::vendor {
namespace {

const AlgoConfig kStart = {.id = 66, .tile = 20, .stages = 35, .cluster = 3};  // 128x128, 2x1

AlgoCapabilities able() {
  AlgoCapabilities can;
  for (std::uint32_t id = 1; id <= 630; ++id) can.tiles.push_back(id);
  can.stages = {0, 34, 35, 36};
  can.split_k = can.swizzling = true;
  can.reductions = kReductionAny;
  can.custom_max = 3;
  return can;
}

int knobs_turned(const AlgoConfig& a, const AlgoConfig& b) {
  return int{a.tile != b.tile} + int{a.stages != b.stages} + int{a.cluster != b.cluster} +
         int{a.split_k != b.split_k} + int{a.swizzling != b.swizzling} + int{a.inner != b.inner} +
         int{a.custom != b.custom};
}

TEST(Neighbours, TurnOneKnobOnceEach) {
  for (const Knob knob : kKnobs) {
    const auto list = neighbours(kStart, knob, able(), kReductionAny);
    EXPECT_FALSE(list.empty());
    std::set<AlgoConfig> distinct(list.begin(), list.end());
    EXPECT_EQ(distinct.size(), list.size());
    for (const AlgoConfig& each : list) {
      EXPECT_EQ(knobs_turned(each, kStart), 1) << to_text(each);
      EXPECT_EQ(each.id, kStart.id);
    }
  }
}

TEST(Neighbours, NearestTilesComeFirstAndFarOnesNot) {
  const auto list = neighbours(kStart, Knob::tile, able(), kReductionAny);
  EXPECT_LE(list.size(), 16U);
  for (const AlgoConfig& each : list) EXPECT_NE(each.tile, 1U);  // 8x8
  AlgoCapabilities two = able();
  two.tiles = {1, 23, 20, 22};  // 8x8, 128x256, itself, 64x512
  const auto few = neighbours(kStart, Knob::tile, two, kReductionAny);
  ASSERT_EQ(few.size(), 3U);
  EXPECT_EQ(few[0].tile, 23U);
  EXPECT_EQ(few[1].tile, 22U);
  EXPECT_EQ(few[2].tile, 1U);
}

TEST(Neighbours, SplittingKeepsToThePermittedScheme) {
  for (const AlgoConfig& each : neighbours(kStart, Knob::split_k, able(), kReductionComputeType)) {
    EXPECT_EQ(each.reduction, std::uint32_t{kReductionComputeType});
  }
  AlgoCapabilities narrow = able();
  narrow.reductions = kReductionInPlace | kReductionOutputType;
  EXPECT_TRUE(neighbours(kStart, Knob::split_k, narrow, kReductionComputeType).empty());
  AlgoConfig split = kStart;
  split.split_k = 4;
  split.reduction = kReductionComputeType;
  const auto back = neighbours(split, Knob::split_k, able(), kReductionComputeType);
  const auto whole = std::ranges::find(back, 1, [](const AlgoConfig& c) { return c.split_k; });
  ASSERT_NE(whole, back.end());
  EXPECT_EQ(whole->reduction, std::uint32_t{kReductionNone});
}

TEST(Neighbours, AnAlgorithmThatCanDoLittleHasFew) {
  const AlgoCapabilities can;
  EXPECT_TRUE(neighbours(kStart, Knob::tile, can, kReductionAny).empty());
  EXPECT_TRUE(neighbours(kStart, Knob::stages, can, kReductionAny).empty());
  EXPECT_TRUE(neighbours(kStart, Knob::split_k, can, kReductionAny).empty());
  EXPECT_TRUE(neighbours(kStart, Knob::swizzling, can, kReductionAny).empty());
  EXPECT_TRUE(neighbours(kStart, Knob::custom, can, kReductionAny).empty());
}

TEST(AlgoConfig, HasAText) {
  EXPECT_EQ(to_text(kStart),
            "algo=66 tile=128x128 stages=35 cluster=2x1 splitk=1 reduction=0 swizzle=0 inner=0 "
            "custom=0");
}

TEST(AlgoConfig, ComesBackFromItsText) {
  for (const char* remark : {"", " (8 returned, 7 valid)"}) {
    const auto back = parse_algo_config(to_text(kStart) + remark);
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(*back, kStart);
  }
  for (std::uint32_t tile = 0; tile < 700; tile += 23) {  // a name means one id
    AlgoConfig each = kStart;
    each.tile = tile;
    each.cluster = static_cast<std::uint16_t>(tile % 50);
    const auto same = parse_algo_config(to_text(each));
    ASSERT_TRUE(same) << to_text(each);
    EXPECT_EQ(*same, each) << to_text(each);
  }
  AlgoConfig odd = kStart;
  odd.tile = 0;       // auto
  odd.cluster = 999;  // an id that has no name
  odd.custom = 4000000000U;
  const auto back = parse_algo_config(to_text(odd));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, odd);
  for (const char* bad : {"", "algo=66", "tile=128x256 algo=66",
                          "algo=66 tile=1x1 stages=1 cluster=1x1 splitk=1 reduction=0 swizzle=0 "
                          "inner=0 custom=0",
                          "algo=66 tile=auto stages=-1 cluster=auto splitk=1 reduction=0 swizzle=0 "
                          "inner=0 custom=0",
                          "algo=66 tile=auto stages=1 cluster=auto splitk=1 reduction=0 swizzle=0 "
                          "inner=0 custom=0 more=1"}) {
    EXPECT_FALSE(parse_algo_config(bad)) << bad;
  }
}

TEST(Alignment, IsWhatAllPointersShare) {
  EXPECT_EQ(common_alignment({}), 256U);
  EXPECT_EQ(common_alignment({0x1000, 0x4000}), 256U);
  EXPECT_EQ(common_alignment({0x1000, 0x1010}), 16U);
  EXPECT_EQ(common_alignment({0x1002}), 2U);
}

}  // namespace
}  // namespace tilewright::vendor
