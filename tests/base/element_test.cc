// SPDX-License-Identifier: Apache-2.0
// The conversions against the compiler's own _Float16 and against neighbours enumerated from the
// bit patterns: every f16 and bf16 value, and roundings where two steps would differ from one.
#include "base/element.h"

#include "base/rng.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

namespace tilewright {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

struct Format {
  ElementType type;
  std::function<float(std::uint16_t)> widen;
  std::function<std::uint16_t(double)> narrow;
  std::uint16_t infinity;
};

std::vector<Format> formats() {
  return {{ElementType::f16, f16_to_f32, f64_to_f16, 0x7c00},
          {ElementType::bf16, bf16_to_f32, f64_to_bf16, 0x7f80}};
}

TEST(Element, EveryF16WidensAsTheCompilerDoes) {
  for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const auto expected = static_cast<float>(std::bit_cast<_Float16>(half));
    const float actual = f16_to_f32(half);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(actual)) << bits;
      ASSERT_EQ(std::signbit(actual), (half & 0x8000) != 0) << bits;
    } else {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(actual), std::bit_cast<std::uint32_t>(expected))
          << bits;
    }
  }
}

TEST(Element, EveryValueSurvivesWideningAndNarrowing) {
  for (const auto& format : formats()) {
    for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
      const auto half = static_cast<std::uint16_t>(bits);
      const std::uint16_t back = format.narrow(static_cast<double>(format.widen(half)));
      if ((half & 0x7fff) > format.infinity) {  // NaN stays NaN; a signalling one turns quiet
        ASSERT_GT(back & 0x7fff, format.infinity) << bits;
      } else {
        ASSERT_EQ(back, half) << name_of(format.type) << ' ' << bits;
      }
    }
  }
}

// The reference: of two neighbours the nearer one, of equally near ones the even one.
TEST(Element, MidpointsAndTheirNeighboursRoundToNearestEven) {
  for (const auto& format : formats()) {
    for (std::uint32_t bits = 0; bits + 1 < format.infinity; ++bits) {
      const auto low = static_cast<std::uint16_t>(bits),
                 high = static_cast<std::uint16_t>(bits + 1);
      const double a = static_cast<double>(format.widen(low));
      const double b = static_cast<double>(format.widen(high));
      const double middle = (a + b) / 2;  // exact: one bit more than the format
      for (const double sign : {1.0, -1.0}) {
        const auto with_sign = [&](std::uint16_t v) {
          return static_cast<std::uint16_t>(sign < 0 ? v | 0x8000 : v);
        };
        ASSERT_EQ(format.narrow(sign * middle), with_sign(low % 2 == 0 ? low : high)) << bits;
        ASSERT_EQ(format.narrow(sign * std::nextafter(middle, 0.0)), with_sign(low)) << bits;
        ASSERT_EQ(format.narrow(sign * std::nextafter(middle, kInf)), with_sign(high)) << bits;
      }
    }
  }
}

TEST(Element, RandomDoublesRoundOnceAsTheCompilerDoes) {
  Rng rng(7);
  for (int i = 0; i < 200000; ++i) {
    // All exponents from far below the smallest subnormal to far above the largest value.
    const double value = std::ldexp(rng.uniform() * 2 - 1, static_cast<int>(rng.below(60)) - 35);
    ASSERT_EQ(f64_to_f16(value), std::bit_cast<std::uint16_t>(static_cast<_Float16>(value)))
        << value;
  }
}

TEST(Element, OneRoundingNotTwo) {
  // Through f32 this would land on the midpoint 1 + 2^-11 and then go down to even.
  const double value = 1.0 + 0x1p-11 + 0x1p-40;
  EXPECT_EQ(f64_to_f16(value), 0x3c01);
  EXPECT_EQ(f64_to_f16(static_cast<double>(static_cast<float>(value))), 0x3c00);
  EXPECT_EQ(f64_to_bf16(1.0 + 0x1p-8 + 0x1p-50), 0x3f81);
}

TEST(Element, Edges) {
  struct Case {
    double value;
    std::uint16_t f16;
  };
  for (const auto& [value, f16] : std::vector<Case>{{65504, 0x7bff},
                                                    {65519, 0x7bff},  // CASES N11
                                                    {65519.99, 0x7bff},
                                                    {65520, 0x7c00},
                                                    {65536, 0x7c00},
                                                    {1e300, 0x7c00},
                                                    {kInf, 0x7c00},
                                                    {0x1p-24, 0x0001},
                                                    {0x1p-25, 0x0000},  // a tie: to even
                                                    {std::nextafter(0x1p-25, 1), 0x0001},
                                                    {0x1.8p-24, 0x0002},
                                                    {0x1p-14, 0x0400},
                                                    {0x1p-1074, 0x0000},
                                                    {0.0, 0x0000}}) {
    EXPECT_EQ(f64_to_f16(value), f16) << value;
    EXPECT_EQ(f64_to_f16(-value), f16 | 0x8000) << value;
  }
  const double bf16_max = 0x1.fep127;
  EXPECT_EQ(f64_to_bf16(bf16_max), 0x7f7f);
  EXPECT_EQ(f64_to_bf16(std::nextafter(0x1.ffp127, 0.0)), 0x7f7f);
  EXPECT_EQ(f64_to_bf16(0x1.ffp127), 0x7f80);
  EXPECT_EQ(f64_to_bf16(0x1p-133), 0x0001);  // CASES N13: subnormals are kept
  EXPECT_EQ(f64_to_bf16(0x1p-134), 0x0000);
  EXPECT_EQ(f64_to_bf16(std::nextafter(0x1p-134, 1)), 0x0001);
}

TEST(Element, UnitsDescribeTheConversions) {
  for (const auto& format : formats()) {
    const double u = unit_roundoff(format.type);
    EXPECT_EQ(format.narrow(1 + u), format.narrow(1.0));
    EXPECT_EQ(format.narrow(std::nextafter(1 + u, 2)), format.narrow(1.0) + 1);
    EXPECT_EQ(half_subnormal(format.type), static_cast<double>(format.widen(1)) / 2);
  }
  EXPECT_EQ(unit_roundoff(ElementType::f32),
            static_cast<double>(std::numeric_limits<float>::epsilon()) / 2);
  EXPECT_EQ(half_subnormal(ElementType::f32),
            static_cast<double>(std::numeric_limits<float>::denorm_min()) / 2);
}

TEST(Element, LoadAndStoreAtOddAddresses) {
  for (const auto type : {ElementType::f16, ElementType::bf16, ElementType::f32}) {
    std::vector<char> bytes(64, '\x55');
    char* base = bytes.data() + 1;
    store(type, base, 2, -1.5);
    EXPECT_EQ(load(type, base, 2), -1.5);
    const auto size = size_of(type);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      if (i < 1 + 2 * size || i >= 1 + 3 * size) {
        EXPECT_EQ(bytes[i], '\x55') << i;
      }
    }
  }
}

TEST(Element, Names) {
  for (const auto type : {ElementType::f16, ElementType::bf16, ElementType::f32}) {
    EXPECT_EQ(element_from(name_of(type)), type);
  }
  EXPECT_FALSE(element_from("fp16"));
  EXPECT_FALSE(element_from(""));
}

}  // namespace
}  // namespace tilewright
