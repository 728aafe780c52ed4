// SPDX-License-Identifier: Apache-2.0
#include "launch/expr.h"

#include "base/rng.h"
#include "base/text.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <array>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>

namespace tilewright {
namespace {

using ::testing::HasSubstr;

constexpr ExprNames kNames{.m = 100, .n = 7, .k = 0, .batch = 3, .threads = 8};

// tests/cases/launch_expr.txt: expression | value or `error: part of the message` | why
TEST(Expr, Cases) {
  std::ifstream file(TILEWRIGHT_SOURCE_DIR "/tests/cases/launch_expr.txt");
  std::string line;
  int count = 0;
  while (std::getline(file, line)) {
    if (line.empty() || line.starts_with('#')) continue;
    const auto parts = split(line, '|');
    ASSERT_EQ(parts.size(), 3U) << line;
    const auto expected = trim(parts[1]);
    const auto result = evaluate(trim(parts[0]), kNames);
    if (expected.starts_with("error: ")) {
      ASSERT_FALSE(result) << line << " gave " << *result;
      EXPECT_EQ(result.error().code, ErrorCode::usage);
      EXPECT_THAT(result.error().message + " " + result.error().hint,
                  HasSubstr(std::string(expected.substr(7))));
    } else {
      ASSERT_TRUE(result) << line << ": " << result.error().message;
      EXPECT_EQ(*result, parse_integer(expected)) << line;
    }
    ++count;
  }
  EXPECT_GT(count, 40);
}

TEST(Expr, FormIsCheckedWithoutValues) {
  for (const char* text : {"M-64", "cdiv(M,K)", "9223372036854775807*M+9223372036854775807"}) {
    EXPECT_TRUE(check_expression(text)) << text;
  }
  for (const char* text : {"", "M+", "MM", "div(M,2)", "cdiv(M)", "(M", "M)"}) {
    EXPECT_FALSE(check_expression(text)) << text;
  }
}

TEST(Expr, DepthAndLengthAreBounded) {
  const auto nested = [](int depth) {
    return std::string(static_cast<std::size_t>(depth), '(') + "1" +
           std::string(static_cast<std::size_t>(depth), ')');
  };
  EXPECT_EQ(evaluate(nested(60), kNames).value(), 1);
  EXPECT_FALSE(evaluate(nested(70), kNames));
  EXPECT_FALSE(evaluate(std::string(1000000, '('), kNames));
  std::string calls;
  for (int i = 0; i < 200; ++i) calls += "min(";
  EXPECT_FALSE(evaluate(calls, kNames));
  // Depth is of nesting, not of length.
  std::string wide = "0";
  for (int i = 0; i < 200; ++i) wide += "+min(1,2)";
  EXPECT_EQ(evaluate(wide, kNames).value(), 200);
}

// Random expressions beside the same computation in 128 bits.
__extension__ typedef __int128 Wide;

struct Made {
  std::string text;
  Wide value;
  bool valid;  // no overflow or bad division on the way
};

constexpr std::array<std::string_view, 7> kForms = {"({} + {})",   "({}-{})",          "({})*({})",
                                                    "cdiv({},{})", "roundup({} , {})", "min({},{})",
                                                    "max({},{})"};

Wide apply(std::uint64_t form, Wide a, Wide b) {
  switch (form) {
    case 0:
      return a + b;
    case 1:
      return a - b;
    case 2:
      return a * b;
    case 3:
      return (a + b - 1) / b;
    case 4:
      return (a + b - 1) / b * b;
    case 5:
      return a < b ? a : b;
    default:
      return a > b ? a : b;
  }
}

Made make(Rng& rng, int depth) {
  constexpr Wide kLimit = static_cast<Wide>(1) << 63;
  if (depth == 0 || rng.below(5) == 0) {
    constexpr std::array<std::pair<std::string_view, std::int64_t>, 5> kLeaves = {
        {{"M", 100}, {"N", 7}, {"K", 0}, {"batch", 3}, {"threads", 8}}};
    if (rng.below(2) == 0) {
      const auto& [name, value] = kLeaves[rng.below(kLeaves.size())];
      return {std::string(name), value, true};
    }
    const auto value = static_cast<std::int64_t>(rng.next64() >> (1 + rng.below(63)));
    return {std::to_string(value), value, true};
  }
  const Made a = make(rng, depth - 1), b = make(rng, depth - 1);
  const auto form = rng.below(kForms.size());
  Made made{fmt::format(fmt::runtime(kForms[form]), a.text, b.text), 0, a.valid && b.valid};
  if (form == 3 || form == 4) made.valid = made.valid && a.value >= 0 && b.value > 0;
  if (!made.valid) return made;
  made.value = apply(form, a.value, b.value);
  made.valid = made.value < kLimit && made.value >= -kLimit;
  return made;
}

TEST(Expr, RandomExpressionsMatchWideArithmetic) {
  Rng rng(11);
  int valid = 0, refused = 0;
  for (int i = 0; i < 20000; ++i) {
    const Made made = make(rng, static_cast<int>(rng.below(5)));
    const auto result = evaluate(made.text, kNames);
    if (made.valid && made.value >= 0) {
      ASSERT_TRUE(result) << made.text << ": " << result.error().message;
      ASSERT_TRUE(*result == made.value) << made.text;
      ++valid;
    } else {
      ASSERT_FALSE(result) << made.text << " gave " << *result;
      ++refused;
    }
  }
  EXPECT_GT(valid, 1000);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace tilewright
