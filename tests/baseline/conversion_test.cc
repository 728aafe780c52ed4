// SPDX-License-Identifier: Apache-2.0
// Each conversion gives the bits of base/element.h: all 65,536 halves, every rounding boundary
// between neighbours, and matrices with gaps. Also the case of a CPU without half arithmetic (N37).
#include "baseline/conversion.h"

#include "base/rng.h"
#include "baseline/conversion_team.h"
#include "baseline/pool_scope.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace tilewright {
namespace {

constexpr std::array kHalves = {ElementType::f16, ElementType::bf16};

std::vector<Device> devices() {  // this one, and this one with features taken away
  Device full = detect_cpu(), avx2 = full, none = full;
  std::erase_if(avx2.isa, [](const std::string& name) { return name.starts_with("avx512"); });
  none.isa.clear();
  return {full, avx2, none};
}

bool same(std::uint16_t got, std::uint16_t want, ElementType type) {
  const double g = load(type, &got, 0), w = load(type, &want, 0);
  return got == want || (std::isnan(g) && std::isnan(w));
}

TEST(Conversion, WidensEveryHalfExactly) {
  std::vector<std::uint16_t> all(1 << 16);
  std::iota(all.begin(), all.end(), std::uint16_t{0});
  for (const ElementType type : kHalves) {
    for (const Device& device : devices()) {
      const Conversion& with = conversion_for(type, device);
      std::vector<float> got(all.size());
      with.widen(all.data(), got.data(), static_cast<std::int64_t>(all.size()));
      for (std::size_t i = 0; i < all.size(); ++i) {
        const double want = load(type, all.data(), static_cast<std::int64_t>(i));
        ASSERT_TRUE(got[i] == want || (std::isnan(got[i]) && std::isnan(want)))
            << with.name << " " << i;
      }
    }
  }
}

TEST(Conversion, NarrowsLikeOneRoundingToNearestEven) {
  for (const ElementType type : kHalves) {
    std::vector<float> values = {0.0F,
                                 -0.0F,
                                 1e-45F,
                                 -1e-45F,
                                 65504.0F,
                                 65519.9F,
                                 65520.0F,
                                 std::numeric_limits<float>::max(),
                                 std::numeric_limits<float>::infinity(),
                                 -std::numeric_limits<float>::infinity(),
                                 std::numeric_limits<float>::quiet_NaN(),
                                 std::bit_cast<float>(0x7f800001U)};  // a signalling NaN
    for (std::uint32_t bits = 0; bits < 0x7f00; bits += 3) {          // halfway between neighbours
      const auto low = static_cast<std::uint16_t>(bits),
                 high = static_cast<std::uint16_t>(bits + 1);
      const double middle = (load(type, &low, 0) + load(type, &high, 0)) / 2;
      const auto value = static_cast<float>(middle);
      for (const float near : {value, std::nextafter(value, 0.0F), std::nextafter(value, 1e38F)}) {
        values.push_back(near);
        values.push_back(-near);
      }
    }
    Rng rng(7);
    for (int i = 0; i < 20000; ++i) values.push_back(std::bit_cast<float>(rng()));
    for (const Device& device : devices()) {
      const Conversion& with = conversion_for(type, device);
      std::vector<std::uint16_t> got(values.size());
      with.narrow(values.data(), got.data(), static_cast<std::int64_t>(values.size()));
      for (std::size_t i = 0; i < values.size(); ++i) {
        std::uint16_t want = 0;
        store(type, &want, 0, static_cast<double>(values[i]));
        ASSERT_TRUE(same(got[i], want, type)) << with.name << " " << values[i];
      }
    }
  }
}

TEST(Conversion, PartsCoverAMatrixWithGapsExactlyOnce) {
  constexpr std::int64_t kRows = 7, kCols = 53, kLd = 60;
  const Conversion& with = conversion_for(ElementType::f16, detect_cpu());
  Rng rng(3);
  std::vector<std::uint16_t> matrix(kRows * kLd, 0x7e00);  // NaN in the gaps
  for (std::int64_t i = 0; i < kRows * kLd; ++i) {
    if (i % kLd < kCols) store(ElementType::f16, matrix.data(), i, rng.normal());
  }
  for (const int parts : {1, 2, 3, 16, 500}) {
    std::vector<float> packed(kRows * kCols, -1);
    for (int part = 0; part < parts; ++part) {
      widen_part(with, matrix.data(), kLd, kRows, kCols, packed.data(), part, parts);
    }
    auto back = matrix;
    for (std::int64_t i = 0; i < kRows * kLd; ++i) {
      if (i % kLd < kCols) back[static_cast<std::size_t>(i)] = 0x7e00;
    }
    for (int part = 0; part < parts; ++part) {  // beta 0 must not read these NaNs
      narrow_part(with, packed.data(), kRows, kCols, back.data(), kLd, 0, part, parts);
    }
    EXPECT_EQ(back, matrix) << parts;
    for (int part = 0; part < parts; ++part) {  // C = packed - C = 0
      narrow_part(with, packed.data(), kRows, kCols, back.data(), kLd, -1, part, parts);
    }
    for (std::int64_t i = 0; i < kRows * kLd; ++i) {
      const double want = i % kLd < kCols ? 0 : 1;
      const double got = load(ElementType::f16, back.data(), i);
      EXPECT_TRUE(want == 0 ? got == 0 : std::isnan(got)) << parts << " at " << i;
    }
  }
}

// N37: a CPU without half arithmetic still converts by instruction, never by the scalar loop.
TEST(Conversion, UsesTheInstructionsThatTheDeviceLists) {
  Device device;
  device.isa = {"avx2", "f16c", "fma"};
  EXPECT_EQ(conversion_for(ElementType::f16, device).name, "f16c");
  EXPECT_EQ(conversion_for(ElementType::bf16, device).name, "avx2");
  device.isa = {"avx2", "avx512f", "f16c", "fma"};
  EXPECT_EQ(conversion_for(ElementType::f16, device).name, "avx512");
  device.isa = {};
  EXPECT_EQ(conversion_for(ElementType::f16, device).name, "scalar");
}

TEST(ConversionTeam, EveryPartRunsOncePerRound) {
  using enum ConversionTeam::Waiting;
  for (const auto& [waiting, rounds] : {std::pair(asleep, 1000), std::pair(spinning, 100)}) {
    ConversionTeam team({}, 3, waiting);
    ASSERT_EQ(team.threads(), 3);
    std::array<int, 3> seen{};
    for (int round = 0; round < rounds; ++round) {
      team.run([&](int part, int parts) {
        seen[static_cast<std::size_t>(part)] += parts == 3 ? 1 : 1000000;
      });
      for (const int count : seen) ASSERT_EQ(count, round + 1);
    }
  }
}

TEST(ConversionTeam, EndsItsThreads) {
  const auto before = thread_ids();
  {
    ConversionTeam team({}, 4);
  }
  EXPECT_EQ(thread_ids(), before);
}

// Threads that appear inside a scope are pinned apart; the caller keeps its own mask.
TEST(PoolScope, PinsNewThreadsToTheirOwnCpus) {
  const Device device = detect_cpu();
  if (device.cpus.size() < 2) GTEST_SKIP() << "one CPU";
  cpu_set_t original, mine, after;
  ASSERT_EQ(sched_getaffinity(0, sizeof original, &original), 0);
  CPU_ZERO(&mine);
  CPU_SET(static_cast<std::size_t>(device.cpus[0]), &mine);
  ASSERT_EQ(sched_setaffinity(0, sizeof mine, &mine), 0);
  std::atomic<bool> leave{false};
  std::atomic<int> id{0};
  std::thread worker;
  {
    const PoolScope scope({device.cpus[0], device.cpus[1]});
    worker = std::thread([&] {
      id = gettid();
      while (!leave) std::this_thread::yield();
    });
    while (id == 0) std::this_thread::yield();
  }
  cpu_set_t theirs;
  EXPECT_EQ(sched_getaffinity(id, sizeof theirs, &theirs), 0);
  EXPECT_EQ(CPU_COUNT(&theirs), 1);
  EXPECT_TRUE(CPU_ISSET(static_cast<std::size_t>(device.cpus[1]), &theirs));
  leave = true;
  worker.join();
  EXPECT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&after, &mine));
  EXPECT_EQ(sched_setaffinity(0, sizeof original, &original), 0);
}

}  // namespace
}  // namespace tilewright
