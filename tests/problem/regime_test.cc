// SPDX-License-Identifier: Apache-2.0
// Every shape has one regime; the shares of the 1,000 shapes of the CUDA-L2 paper on an H200; the
// limit of a few shapes by hand.
#include "problem/regime.h"

#include "problem/suite.h"

#include <gtest/gtest.h>

#include <map>

namespace tilewright {
namespace {

constexpr int kMultiprocessors = 132;

Device h200() {
  Device device;
  device.kind = DeviceKind::cuda;
  device.cuda.capability = 90;
  device.cuda.multiprocessors = kMultiprocessors;
  device.cuda.clock_kilohertz = 1'980'000;
  device.cuda.memory_bandwidth = 4.8e12;
  return device;
}

TEST(Regime, OfShapesByHand) {
  const std::map<std::string, std::string_view> cases = {
      {"64x64x64", "tiny"},        {"64x64x2048", "tiny"},        {"64x64x4096", "split"},
      {"512x512x512", "few"},      {"512x512x16384", "split"},    {"4096x64x512", "few"},
      {"64x16384x8192", "middle"}, {"1024x1024x12288", "middle"}, {"1024x2048x512", "middle"},
      {"4096x4096x512", "thin"},   {"4096x4096x1024", "big"},     {"8x4096x4096", "narrow"},
      {"4096x32x4096", "narrow"},  {"1x1024x1024", "tiny"},       {"33x4096x4096", "split"},
  };
  for (const auto& [text, regime] : cases) {
    EXPECT_EQ(name_of(regime_of(*parse_problem(text), kMultiprocessors)), regime) << text;
  }
}

TEST(Regime, ABatchFillsADeviceToo) {
  EXPECT_EQ(regime_of(*parse_problem("256x256x4096"), kMultiprocessors), Regime::split);
  EXPECT_EQ(regime_of(*parse_problem("256x256x4096 batch=64"), kMultiprocessors), Regime::big);
}

TEST(Regime, SharesOfTheGrid) {
  std::map<Regime, int> shares;
  for (std::int64_t m : {64, 128, 256, 512, 1024, 2048, 4096, 8192, 12288, 16384}) {
    for (std::int64_t n : {64, 128, 256, 512, 1024, 2048, 4096, 8192, 12288, 16384}) {
      for (std::int64_t k : {64, 128, 256, 512, 1024, 2048, 4096, 8192, 12288, 16384}) {
        ++shares[regime_of({.m = m, .n = n, .k = k}, kMultiprocessors)];
      }
    }
  }
  int total = 0;
  for (const Regime regime : kRegimes) {
    EXPECT_GE(shares[regime], regime == Regime::narrow ? 0 : 20) << name_of(regime);
    total += shares[regime];
  }
  EXPECT_EQ(shares[Regime::narrow], 0);
  EXPECT_EQ(total, 1000);
}

TEST(Limit, IsKnownWhereItWasMeasured) {
  EXPECT_FALSE(sustained_rates(Device{}));
  Device a100 = h200();
  a100.cuda.capability = 80;
  EXPECT_FALSE(sustained_rates(a100));
  ASSERT_TRUE(sustained_rates(h200()));
}

TEST(Limit, OfShapesByHand) {
  const SustainedRates rates = *sustained_rates(h200());
  EXPECT_NEAR(limit_us({.m = 64, .n = 64, .k = 64}, rates), 0.9, 0.01) << "a launch";
  // 2 * 8192^3 FLOP at 705 TFLOP/s.
  EXPECT_NEAR(limit_us({.m = 8192, .n = 8192, .k = 8192}, rates), 1560.5, 1);
  // 64 x 16384 x 8192: 270.5 MB, nearly all of it B, at 4.3 TB/s.
  EXPECT_NEAR(limit_us({.m = 64, .n = 16384, .k = 8192}, rates), 64.1, 0.5);
  EXPECT_EQ(limit_us({}, rates), rates.launch_us);
}

}  // namespace
}  // namespace tilewright
