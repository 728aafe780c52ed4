// SPDX-License-Identifier: Apache-2.0
#include "device/cpuid.h"

#include "invented_cpu.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace tilewright {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(Cpuid, SapphireRapids) {
  auto cpu = sapphire_rapids();
  EXPECT_EQ(cpu_silicon(cpu.source()), "genuineintel-6-143-8");
  EXPECT_THAT(cpu_features(cpu.source()),
              ElementsAre("avx2", "avx512bf16", "avx512bw", "avx512dq", "avx512f", "avx512fp16",
                          "avx512vl", "f16c", "fma"));
  const auto caches = cpu_caches(cpu.source());
  EXPECT_EQ(caches.l1d_bytes, 48 << 10);
  EXPECT_EQ(caches.l2_bytes, 2 << 20);
  EXPECT_EQ(caches.l3_bytes, 105 << 20);
}

// CASES I08: tile state must be both saved by the system and handed out by it.
TEST(Cpuid, AmxNeedsStateAndPermission) {
  auto cpu = sapphire_rapids();
  cpu.xcr0 |= 0x60000;
  EXPECT_THAT(cpu_features(cpu.source()), Not(Contains("amx_tile")));
  cpu.amx_permitted = true;
  EXPECT_THAT(cpu_features(cpu.source()), Contains("amx_tile"));
  EXPECT_THAT(cpu_features(cpu.source()), Contains("amx_bf16"));
  EXPECT_THAT(cpu_features(cpu.source()), Not(Contains("amx_fp16")));
  cpu.xcr0 &= ~std::uint64_t{0x40000};
  EXPECT_THAT(cpu_features(cpu.source()), Not(Contains("amx_bf16")));
}

TEST(Cpuid, AFeatureWhoseStateIsNotSavedDoesNotCount) {
  auto cpu = sapphire_rapids();
  cpu.xcr0 = 7;  // AVX but no AVX-512
  EXPECT_THAT(cpu_features(cpu.source()), ElementsAre("avx2", "f16c", "fma"));
  cpu.xcr0 = 3;  // SSE only
  EXPECT_THAT(cpu_features(cpu.source()), IsEmpty());
}

// CASES I09: one binary as on older processors.
TEST(Cpuid, AMaskHidesAFeatureAndWhatBuildsOnIt) {
  const auto source = sapphire_rapids().source();
  EXPECT_THAT(cpu_features(source, "avx512f"), ElementsAre("avx2", "f16c", "fma"));
  EXPECT_THAT(cpu_features(source, " avx512bf16 , avx512fp16,"),
              ElementsAre("avx2", "avx512bw", "avx512dq", "avx512f", "avx512vl", "f16c", "fma"));
  EXPECT_THAT(cpu_features(source, "avx2,fma"), ElementsAre("f16c"));
  EXPECT_EQ(cpu_features(source, "no-such-feature"), cpu_features(source));
}

TEST(Cpuid, AmdFamiliesAndCaches) {
  InventedCpu cpu;
  cpu.leaves[{0, 0}] = {0x10, 0x68747541, 0x444d4163, 0x69746e65};  // AuthenticAMD
  cpu.leaves[{1, 0}] = {0x00a10f11, 0, 0, 0};                       // Zen 4: 25, 17, 1
  cpu.leaves[{0x8000001d, 0}] = {1 | (1 << 5), (7U << 22) | 63, 63, 0};
  EXPECT_EQ(cpu_silicon(cpu.source()), "authenticamd-25-17-1");
  EXPECT_EQ(cpu_caches(cpu.source()).l1d_bytes, 32 << 10);
  EXPECT_EQ(cpu_caches(cpu.source()).l3_bytes, 0);
}

TEST(Cpuid, NothingKnownIsNothingClaimed) {
  const auto source = InventedCpu{}.source();
  EXPECT_EQ(cpu_silicon(source), "unknown-0-0-0");
  EXPECT_EQ(cpu_brand(source), "");
  EXPECT_THAT(cpu_features(source), IsEmpty());
  EXPECT_EQ(cpu_caches(source).l2_bytes, 0);
}

// The kernel decodes the same bits on its own.
TEST(Cpuid, AgreesWithTheKernelAboutThisMachine) {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line) && !line.starts_with("flags")) {
  }
  if (!line.starts_with("flags")) GTEST_SKIP() << "/proc/cpuinfo lists no flags";
  std::istringstream stream(line.substr(line.find(':') + 1));
  const std::vector<std::string> flags{std::istream_iterator<std::string>(stream), {}};
  const auto features = cpu_features(this_cpu());
  for (const auto& [ours, theirs] : {std::pair{"avx2", "avx2"},
                                     {"f16c", "f16c"},
                                     {"fma", "fma"},
                                     {"avx512f", "avx512f"},
                                     {"avx512bw", "avx512bw"},
                                     {"avx512dq", "avx512dq"},
                                     {"avx512vl", "avx512vl"},
                                     {"avx512bf16", "avx512_bf16"},
                                     {"avx512fp16", "avx512_fp16"}}) {
    EXPECT_EQ(std::count(features.begin(), features.end(), ours),
              std::count(flags.begin(), flags.end(), theirs))
        << ours;
  }
}

}  // namespace
}  // namespace tilewright
