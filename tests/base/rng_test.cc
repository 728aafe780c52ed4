// SPDX-License-Identifier: Apache-2.0
#include "base/rng.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

namespace tilewright {
namespace {

// kat_vectors of the Random123 distribution, lines `philox4x32 10`.
TEST(Philox, KnownAnswers) {
  using Words = std::array<std::uint32_t, 4>;
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr std::uint32_t kOnes = 0xffffffff;
  EXPECT_EQ(philox4x32({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Rng, IsTheBlocksOfPhiloxInOrder) {
  Rng rng(0x123456789abcdef0ULL, 0xfedcba9876543210ULL);
  for (std::uint32_t block = 0; block < 5; ++block) {
    const auto words = philox4x32({block, 0, 0x76543210, 0xfedcba98}, {0x9abcdef0, 0x12345678});
    for (const auto word : words) EXPECT_EQ(rng(), word);
  }
}

TEST(Rng, SeedsAndStreamsDiffer) {
  std::set<std::uint64_t> firsts;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    for (std::uint64_t stream = 0; stream < 50; ++stream) {
      firsts.insert(Rng(seed, stream).next64());
    }
  }
  EXPECT_EQ(firsts.size(), 2500U);
}

TEST(Rng, BelowIsInRangeAndEven) {
  Rng rng(1);
  EXPECT_EQ(rng.below(1), 0U);
  for (const std::uint64_t bound : {2ULL, 3ULL, 10ULL, 1ULL << 40, (1ULL << 63) + 1, ~0ULL}) {
    for (int i = 0; i < 1000; ++i) ASSERT_LT(rng.below(bound), bound);
  }
  // A bound just above 2^63 rejects almost half: without that the lower half would be twice as
  // likely. 10,000 draws: 5,000 +- 50 below the middle; 10 sigma are allowed.
  const std::uint64_t bound = (1ULL << 63) + (1ULL << 62);
  int low = 0;
  for (int i = 0; i < 10000; ++i) low += rng.below(bound) < bound / 2;
  EXPECT_NEAR(low, 5000, 500);
  std::vector<int> counts(7);
  for (int i = 0; i < 70000; ++i) ++counts[rng.below(7)];
  for (const int count : counts) EXPECT_NEAR(count, 10000, 1000);
}

TEST(Rng, UniformAndNormalHaveTheirMoments) {
  Rng rng(3);
  constexpr int kCount = 200000;
  double mean = 0, square = 0, third = 0, fourth = 0, uniform = 0;
  for (int i = 0; i < kCount; ++i) {
    const double u = rng.uniform();
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    uniform += u;
    const double x = rng.normal();
    ASSERT_TRUE(std::isfinite(x));
    mean += x;
    square += x * x;
    third += x * x * x;
    fourth += x * x * x * x;
  }
  EXPECT_NEAR(uniform / kCount, 0.5, 0.005);
  EXPECT_NEAR(mean / kCount, 0.0, 0.02);
  EXPECT_NEAR(square / kCount, 1.0, 0.03);
  EXPECT_NEAR(third / kCount, 0.0, 0.06);
  EXPECT_NEAR(fourth / kCount, 3.0, 0.2);
}

}  // namespace
}  // namespace tilewright
