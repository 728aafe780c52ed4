// SPDX-License-Identifier: Apache-2.0
// Large products in parts: nothing twice, nothing left out, no launch beyond what a grid can count
// (CASES N18, N20, N21). Index arithmetic only.
#include "runtime/cuda/parts.h"

#include "runtime_cuda/fake_cuda.h"

namespace tilewright::runtime {
namespace {

void expect_cover(const Call& call, const Grain& grain, const std::vector<Part>& parts) {
  ASSERT_FALSE(parts.empty());
  double elements = 0;
  for (const Part& p : parts) {
    EXPECT_TRUE(p.m > 0 && p.n > 0 && p.batch > 0);
    EXPECT_TRUE(p.m0 + p.m <= call.m && p.n0 + p.n <= call.n && p.b0 + p.batch <= call.batch);
    const std::int64_t tiles =
        (p.m + grain.tile_m - 1) / grain.tile_m * ((p.n + grain.tile_n - 1) / grain.tile_n);
    EXPECT_LE(tiles, std::int64_t{1} << 30);
    if (grain.batch_in_z) {
      EXPECT_LE(p.batch * grain.split, 65535);
    } else {
      EXPECT_LE(tiles * p.batch * grain.split, std::int64_t{1} << 30);
    }
    EXPECT_EQ(p.m0 % 8, 0);
    EXPECT_EQ(p.n0 % 8, 0);
    elements += static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.batch);
  }
  EXPECT_EQ(elements, static_cast<double>(call.m) * static_cast<double>(call.n) *
                          static_cast<double>(call.batch));
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    for (std::size_t j = i + 1; j < std::min(parts.size(), i + 40); ++j) {
      const auto apart = [](std::int64_t a, std::int64_t an, std::int64_t b, std::int64_t bn) {
        return a + an <= b || b + bn <= a;
      };
      const Part &p = parts[i], &q = parts[j];
      EXPECT_TRUE(apart(p.m0, p.m, q.m0, q.m) || apart(p.n0, p.n, q.n0, q.n) ||
                  apart(p.b0, p.batch, q.b0, q.batch));
    }
  }
}

TEST(Parts, OrdinaryProductsAreOne) {
  EXPECT_EQ(parts_of(packed(4096, 128256, 4096, 3), {}),
            (std::vector<Part>{{0, 0, 0, 4096, 128256, 3}}));
  EXPECT_EQ(parts_of(packed(23491, 128256, 64), {16, 8, 1, true}).size(), 1U);
}

TEST(Parts, CoverLargeProducts) {
  const std::int64_t large = std::int64_t{1} << 31;
  for (const Call& call :
       {packed(225, 4, 4, 65535), packed(225, 4, 4, 65536), packed(512, 512, 1, 8209),
        packed(1, 65536 * 128 + 1, 8), packed(large + 5, 3, 8), packed(3, large + 5, 8),
        packed(1 << 20, 1 << 20, 8), packed(1, 1, 1, large + 7), packed(8, 8, 8, 1000000)}) {
    for (const Grain& grain : {Grain{16, 8, 1, true}, Grain{64, 64, 8, true},
                               Grain{128, 256, 1, false}, Grain{64, 32, 8, false}}) {
      const std::vector<Part> parts = parts_of(call, grain);
      // Only a batch of 2^31 products of one number needs more launches than we make.
      if (call.batch > large && grain.batch_in_z) {
        EXPECT_TRUE(parts.empty());
      } else {
        expect_cover(call, grain, parts);
      }
    }
  }
}

TEST(Parts, OffsetsHave64Bits) {
  Call call = packed(std::int64_t{1} << 29, 16, 64, 1);
  call.a_transposed = false;
  const Part part{std::int64_t{1} << 28, 8, 0, 16, 8, 1};
  Offsets at = offsets_of(call, part);
  EXPECT_EQ(at.a, 2 * (std::int64_t{1} << 28) * 64);
  EXPECT_EQ(at.b, 16);
  EXPECT_EQ(at.c, 2 * ((std::int64_t{1} << 28) * 16 + 8));
  EXPECT_EQ(at.bias, 16);
  call.a_transposed = call.b_transposed = true;
  call.out = ElementType::f32;
  call.lda = call.m;
  call.ldb = call.k;
  at = offsets_of(call, part);
  EXPECT_EQ(at.a, 2 * (std::int64_t{1} << 28));
  EXPECT_EQ(at.b, 2 * 8 * 64);
  EXPECT_EQ(at.bias, 32);
  call = packed(512, 512, 1, 8209);
  EXPECT_EQ(offsets_of(call, {0, 0, 8200, 512, 512, 9}).c, 2 * 8200 * 512 * 512LL);
  EXPECT_GT(offsets_of(call, {0, 0, 8200, 512, 512, 9}).c, std::int64_t{1} << 31);
}

TEST(Parts, ABatchAgainstOneBIsOneTallProduct) {
  Call call = packed(3, 5, 7, 4);
  EXPECT_EQ(folded(call), call);
  call.stride_b = 0;
  EXPECT_EQ(folded(call).m, 12);
  EXPECT_EQ(folded(call).batch, 1);
  Call apart = call;
  apart.stride_c += 1;
  EXPECT_EQ(folded(apart), apart);
  apart = call;
  apart.a_transposed = true;
  EXPECT_EQ(folded(apart), apart);
}

}  // namespace
}  // namespace tilewright::runtime
