// SPDX-License-Identifier: Apache-2.0
// What the GPU draws, element by element, is what the CPU draws in blocks; and the arithmetic that
// both compilers read agrees with that of base.
#include "base/rng.h"
#include "verify/both/bit_patterns.h"
#include "verify/honest.h"
#include "verify/inputs.h"

#include <bit>
#include <cstring>

namespace tilewright {
namespace {

std::uint32_t bits_at(ElementType type, const std::vector<std::byte>& bytes, std::int64_t i) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, bytes.data() + i * static_cast<std::int64_t>(size_of(type)), size_of(type));
  return bits;
}

// The first element that differs, or -1.
std::int64_t first_difference(const Recipe& recipe, std::uint64_t seed, ElementType type,
                              const std::vector<std::byte>& bytes) {
  Drawing drawing = recipe.drawing;
  drawing.seed = seed;
  const auto count = static_cast<std::int64_t>(bytes.size() / size_of(type));
  for (std::int64_t i = 0; i < count; ++i) {
    if (drawn(drawing, i) != bits_at(type, bytes, i)) return i;
  }
  return -1;
}

TEST(Drawing, OneElementIsWhatABlockDraws) {
  for (const char* text :
       {"gemm 33x29x130 f16 acc=f32 nn", "gemm 33x29x131 bf16 acc=f32 tt batch=3",
        "gemm 7x5x64 f16 acc=f32 nt batch=2", "gemm 7x5x2 bf16 acc=f32 tn",
        "gemm 16x16x48 f16 acc=f16 nn", "gemm 3x3x1 f16 acc=f32 nn out=f32"}) {
    const Problem p = problem_of(text);
    for (std::size_t k = 0; k < kDataKindNames.size(); ++k) {
      const auto kind = static_cast<DataKind>(k);
      if (!applies(kind, p)) continue;
      const std::uint64_t seed = 0x123456789abcULL + k;
      const Operands data = draw(p, kind, seed);
      const std::string name = std::string(text) + " " + std::string(name_of(kind));
      EXPECT_EQ(first_difference(*recipe(p, kind, Operand::a, seed), seed, p.in, data.a), -1)
          << name;
      EXPECT_EQ(first_difference(*recipe(p, kind, Operand::b, seed), seed, p.in, data.b), -1)
          << name;
    }
    for (const DataKind kind : {DataKind::normal, DataKind::damped}) {
      EXPECT_EQ(first_difference(*plausible_recipe(p, kind), 5, p.out, plausible_c(p, 5, kind)),
                -1);
    }
    EXPECT_EQ(first_difference(*even_recipe(p), 5, p.out, even_c(p, 5)), -1) << text;
  }
}

TEST(BitPatterns, NarrowAsBaseDoes) {
  Rng rng(3);
  for (int i = 0; i < 200000; ++i) {
    std::uint64_t bits = rng.next64();
    if (i % 2 == 0) {  // near the 16-bit formats' range, often a tie
      const std::uint64_t exponent = 1023 - 30 + rng.below(50);
      bits = (bits & 0x8000000000000000U) | exponent << 52 | (rng.below(1 << 13) << 39);
    }
    const double value = std::bit_cast<double>(bits);
    ASSERT_EQ(narrowed(bits, 10, 5), f64_to_f16(value)) << value;
    ASSERT_EQ(narrowed(bits, 7, 8), f64_to_bf16(value)) << value;
  }
}

TEST(BitPatterns, ADigestTellsWordsPlacesAndExchangesApart) {
  const auto of = [](std::vector<std::uint64_t> words) {
    Digest sum;
    for (std::size_t i = 0; i < words.size(); ++i) {
      const Digest one = digest_of(words[i], i);
      sum.low += one.low;
      sum.high += one.high;
    }
    return sum;
  };
  const Digest plain = of({1, 2, 3, 0});
  EXPECT_EQ(plain, of({1, 2, 3, 0}));
  EXPECT_FALSE(plain == of({2, 1, 3, 0}));
  EXPECT_FALSE(plain == of({1, 2, 3, 1}));
  EXPECT_FALSE(plain == of({0, 2, 3, 1}));
  EXPECT_FALSE(of({0, 0}) == of({0, 0, 0}));
}

}  // namespace
}  // namespace tilewright
