// SPDX-License-Identifier: Apache-2.0
// The lattice arithmetic against bytes that are marked one by one.
#include "runtime/overlap.h"

#include "base/rng.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>

namespace tilewright::runtime {
namespace {

// Every byte of entry `first` to `last`.
std::set<std::uint64_t> bytes_of(const Footprint& f, std::int64_t first, std::int64_t last) {
  std::set<std::uint64_t> bytes;
  for (std::int64_t b = first; b < last; ++b) {
    for (std::int64_t r = 0; r < f.rows; ++r) {
      for (std::int64_t x = 0; x < f.width; ++x) {
        bytes.insert(f.address +
                     static_cast<std::uint64_t>(b * f.batch_stride + r * f.row_stride + x));
      }
    }
  }
  return bytes;
}

bool meet(const std::set<std::uint64_t>& a, const std::set<std::uint64_t>& b) {
  for (const std::uint64_t byte : a) {
    if (b.contains(byte)) return true;
  }
  return false;
}

bool slow_overlap(const Footprint& a, const Footprint& b) {
  return meet(bytes_of(a, 0, a.batch), bytes_of(b, 0, b.batch));
}

bool slow_entries_overlap(const Footprint& a) {
  for (std::int64_t i = 1; i < a.batch; ++i) {
    if (meet(bytes_of(a, 0, i), bytes_of(a, i, i + 1))) return true;
  }
  return false;
}

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : rng_(seed) {}
  std::int64_t operator()(std::int64_t from, std::int64_t to) {
    return from + static_cast<std::int64_t>(rng_.below(static_cast<std::uint64_t>(to - from + 1)));
  }
  Footprint footprint() {
    const std::int64_t width = (*this)(1, 4);
    const bool repeats = (*this)(0, 9) == 0;
    return {static_cast<std::uint64_t>((*this)(100, 160)),
            width,
            (*this)(1, 6),
            repeats ? 0 : (*this)(width, 17),
            (*this)(1, 5),
            (*this)(0, 9) == 0 ? 0 : (*this)(1, 40)};
  }

 private:
  Rng rng_;
};

TEST(Overlap, AgreesWithMarkedBytes) {
  Draw draw(1);
  int shared = 0;
  constexpr int kRounds = 20000;
  for (int round = 0; round < kRounds; ++round) {
    const Footprint a = draw.footprint(), b = draw.footprint();
    const bool expected = slow_overlap(a, b);
    shared += expected ? 1 : 0;
    ASSERT_EQ(overlap(a, b), expected)
        << a.address << ' ' << a.width << ' ' << a.rows << ' ' << a.row_stride << ' ' << a.batch
        << ' ' << a.batch_stride << " with " << b.address << ' ' << b.width << ' ' << b.rows << ' '
        << b.row_stride << ' ' << b.batch << ' ' << b.batch_stride;
  }
  EXPECT_GT(shared, kRounds / 20);
  EXPECT_LT(shared, kRounds * 19 / 20);
}

TEST(Overlap, OfEntriesAgreesWithMarkedBytes) {
  Draw draw(2);
  int shared = 0;
  constexpr int kRounds = 5000;
  for (int round = 0; round < kRounds; ++round) {
    Footprint a = draw.footprint();
    a.row_stride = std::max(a.row_stride, a.width);  // rows of one entry are apart
    const bool expected = slow_entries_overlap(a);
    shared += expected ? 1 : 0;
    ASSERT_EQ(entries_overlap(a), expected) << a.width << ' ' << a.rows << ' ' << a.row_stride
                                            << ' ' << a.batch << ' ' << a.batch_stride;
  }
  EXPECT_GT(shared, kRounds / 20);
  EXPECT_LT(shared, kRounds * 19 / 20);
}

// Sizes of which no walk would see the end, with steps that have no common divisor.
TEST(Overlap, IsExactAndQuickForLargeSizes) {
  constexpr std::int64_t kRows = std::int64_t{1} << 28;
  // a's rows begin at multiples of 1009, b's at 500 more than multiples of 1013: they meet where
  // 1009 i = 500 + 1013 j, which happens long before the end.
  const Footprint a{1 << 20, 2, kRows, 1009, 1, 0};
  Footprint b{(1 << 20) + 500, 2, kRows, 1013, 1, 0};
  EXPECT_TRUE(overlap(a, b));
  EXPECT_TRUE(overlap(b, a));
  // Columns of one wide matrix, by a hair: 8 columns and the 8 after them.
  const Footprint left{1 << 20, 16, kRows, 1000, 1, 0};
  EXPECT_FALSE(overlap(left, {(1 << 20) + 16, 16, kRows, 1000, 1, 0}));
  EXPECT_TRUE(overlap(left, {(1 << 20) + 15, 16, kRows, 1000, 1, 0}));
  // Even and odd batch entries, rows and entries of other strides.
  const Footprint even{1 << 20, 16, 64, 32, kRows, 4096};
  EXPECT_FALSE(overlap(even, {(1 << 20) + 2048, 16, 64, 32, kRows, 4096}));
  EXPECT_FALSE(overlap(even, {(1 << 20) + 16, 16, 64, 32, kRows, 4096}));
  EXPECT_FALSE(overlap(even, {(1 << 20) + 2032, 16, 64, 32, kRows, 4096}));
  EXPECT_TRUE(overlap(even, {(1 << 20) + 2031, 16, 64, 32, kRows, 4096}));
  EXPECT_FALSE(entries_overlap(even));
  EXPECT_FALSE(entries_overlap({1 << 20, 16, kRows, 4096, 128, 32}));  // entries within rows
  EXPECT_TRUE(entries_overlap({1 << 20, 16, kRows, 4096, 129, 32}));
  // Four steps of their own still end.
  (void)overlap({1 << 20, 2, 1 << 20, 10007, 1 << 20, 20011},
                {(1 << 20) + 3, 2, 1 << 20, 30011, 1 << 20, 40009});
}

TEST(Overlap, NothingSharesNothing) {
  const Footprint some{100, 10, 10, 10, 1, 0};
  EXPECT_FALSE(overlap(some, {100, 0, 10, 10, 1, 0}));
  EXPECT_FALSE(overlap(some, {100, 10, 0, 10, 1, 0}));
  EXPECT_FALSE(overlap({100, 10, 10, 10, 0, 0}, some));
  EXPECT_FALSE(entries_overlap({100, 10, 10, 10, 1, 0}));
  EXPECT_TRUE(entries_overlap({100, 10, 10, 10, 2, 0}));
}

}  // namespace
}  // namespace tilewright::runtime
