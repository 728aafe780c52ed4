// SPDX-License-Identifier: Apache-2.0
#include "problem/problem.h"

#include "base/rng.h"
#include "base/text.h"
#include "problem/words.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <array>
#include <fstream>
#include <string>
#include <vector>

namespace tilewright {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// tests/cases/problem_text.txt: text | canonical text or `error: part` | source
TEST(ProblemText, Cases) {
  std::ifstream file(TILEWRIGHT_SOURCE_DIR "/tests/cases/problem_text.txt");
  std::string line;
  int count = 0;
  while (std::getline(file, line)) {
    if (line.empty() || line.starts_with('#')) continue;
    const auto parts = split(line, '|');
    ASSERT_EQ(parts.size(), 3U) << line;
    const auto text = parts[0].substr(0, parts[0].empty() ? 0 : parts[0].size() - 1);
    const auto expected = trim(parts[1]);
    const auto problem = parse_problem(text);
    if (expected.starts_with("error: ")) {
      ASSERT_FALSE(problem) << line;
      EXPECT_EQ(problem.error().code, ErrorCode::usage) << line;
      EXPECT_THAT(problem.error().message + " " + problem.error().hint,
                  AllOf(HasSubstr(std::string(expected.substr(7))),
                        HasSubstr("a correct problem is 'gemm 4096x4096x4096 f16 acc=f32 nn'")))
          << line;
      EXPECT_EQ(problem.error().message.find('\n'), std::string::npos);
    } else {
      ASSERT_TRUE(problem) << line << ": " << problem.error().message;
      EXPECT_EQ(to_text(*problem), expected);
      EXPECT_TRUE(check(*problem)) << line;
    }
    ++count;
  }
  EXPECT_GT(count, 50);
}

Problem random_problem(Rng& rng) {
  const auto size = [&] {  // as many small as large ones
    return static_cast<std::int64_t>(rng.next64() >> (44 + rng.below(20)));
  };
  Problem p;
  p.m = size();
  p.n = size();
  p.k = size();
  p.in = rng.below(2) == 0 ? ElementType::f16 : ElementType::bf16;
  p.out = static_cast<ElementType>(rng.below(3));
  p.acc = p.in == ElementType::f16 ? static_cast<Accumulator>(rng.below(2)) : Accumulator::f32;
  p.a_transposed = rng.below(2) == 1;
  p.b_transposed = rng.below(2) == 1;
  if (rng.below(2) == 1) p.batch = static_cast<std::int64_t>(rng.below(5));
  const auto stride = [&](std::int64_t columns) {
    return rng.below(2) == 1 ? columns + static_cast<std::int64_t>(rng.below(100)) : 0;
  };
  p.lda = stride(p.a_cols());
  p.ldb = stride(p.b_cols());
  p.ldc = stride(p.n);
  p.alpha = static_cast<AlphaClass>(rng.below(2));
  p.beta = static_cast<BetaClass>(rng.below(3));
  return p;
}

TEST(ProblemText, ParsesWhatItPrints) {
  Rng rng(21);
  int checked = 0;
  for (int i = 0; i < 20000; ++i) {
    const auto problem = random_problem(rng);
    const auto back = parse_problem(to_text(problem));
    if (!check(problem)) {  // too many multiply-adds: refused in both forms
      ASSERT_FALSE(back) << to_text(problem);
      continue;
    }
    ASSERT_TRUE(back) << to_text(problem) << ": " << back.error().message;
    ASSERT_EQ(*back, problem) << to_text(problem);
    ++checked;
  }
  EXPECT_GT(checked, 15000);
}

TEST(ProblemText, TheOrderOfTheWordsDoesNotMatter) {
  Rng rng(22);
  for (int i = 0; i < 2000; ++i) {
    const auto problem = random_problem(rng);
    if (!check(problem)) continue;
    const auto text = to_text(problem);
    auto list = words(text);
    for (std::size_t j = list.size() - 1; j > 2; --j)
      std::swap(list[j], list[2 + rng.below(j - 1)]);
    ASSERT_EQ(parse_problem(fmt::format("{}", fmt::join(list, " "))).value(), problem);
  }
}

// Any damage gives a problem or an error, and an error's column lies in the text.
TEST(ProblemText, DamagedTextNeverCrashes) {
  Rng rng(23);
  constexpr std::string_view kLetters = "gemx_0189 =fbnt:,-\t\n\0\xff|";
  for (int i = 0; i < 20000; ++i) {
    auto text = to_text(random_problem(rng));
    for (std::uint64_t edits = 1 + rng.below(4); edits > 0; --edits) {
      const auto at = rng.below(text.size() + 1);
      const char letter = kLetters[rng.below(kLetters.size())];
      if (rng.below(2) == 0 || at == text.size()) {
        text.insert(at, 1, letter);
      } else {
        text[at] = letter;
      }
    }
    const auto problem = parse_problem(text);
    if (problem) {
      ASSERT_EQ(parse_problem(to_text(*problem)).value(), *problem) << text;
      continue;
    }
    const auto& message = problem.error().message;
    const auto place = message.rfind(", column ");
    if (place == std::string::npos) continue;  // from check(), which speaks of values
    const auto number = message.substr(place + 9, message.find(':', place) - place - 9);
    const auto column = parse_integer(number);
    ASSERT_TRUE(column && *column >= 1 && *column <= static_cast<std::int64_t>(text.size()) + 1)
        << message;
  }
}

TEST(Problem, RowsColumnsAndStridesFollowTheLayout) {
  struct Case {
    const char* text;
    std::array<std::int64_t, 7> expected;  // a rows, cols, stride; b rows, cols, stride; c stride
  };
  for (const auto& [text, expected] :
       std::vector<Case>{{"2x3x4 nn", {2, 4, 4, 4, 3, 3, 3}},
                         {"2x3x4 nt", {2, 4, 4, 3, 4, 4, 3}},
                         {"2x3x4 tn", {4, 2, 2, 4, 3, 3, 3}},
                         {"2x3x4 tt", {4, 2, 2, 3, 4, 4, 3}},
                         {"2x3x4 tt lda=5 ldb=6 ldc=7", {4, 2, 5, 3, 4, 6, 7}}}) {
    const auto p = parse_problem(text).value();
    const std::array<std::int64_t, 7> actual = {p.a_rows(), p.a_cols(),   p.a_stride(), p.b_rows(),
                                                p.b_cols(), p.b_stride(), p.c_stride()};
    EXPECT_EQ(actual, expected) << text;
    EXPECT_EQ(p.layout(), std::string(text).substr(6, 2));
  }
}

TEST(Problem, CountsArithmeticAndTraffic) {
  const auto p = parse_problem("2x3x4 bf16 out=f32 batch=5 lda=100").value();
  EXPECT_EQ(p.flop(), 2.0 * 2 * 3 * 4 * 5);
  EXPECT_EQ(p.bytes(), 5.0 * ((2 * 4 + 4 * 3) * 2 + 2 * 3 * 4));  // gaps are not traffic
  const auto large = parse_problem("1048576x1048576x1048576").value();
  EXPECT_EQ(large.flop(), 0x1p61);
}

TEST(Problem, CheckRefusesWhatTheTextCannotSay) {
  Problem p;
  p.m = p.n = p.k = 8;
  ASSERT_TRUE(check(p));
  for (const auto field : {&Problem::m, &Problem::n, &Problem::k, &Problem::batch, &Problem::lda,
                           &Problem::ldb, &Problem::ldc}) {
    for (const std::int64_t value :
         {std::int64_t{-1}, INT64_MIN, std::int64_t{1} << 40, INT64_MAX}) {
      auto bad = p;
      bad.*field = value;
      EXPECT_FALSE(check(bad)) << value;
    }
  }
  p.in = ElementType::f32;
  EXPECT_FALSE(check(p));
}

TEST(ProblemWords, EveryFieldReadsItsOwnText) {
  Rng rng(24);
  for (int i = 0; i < 500; ++i) {
    const auto problem = random_problem(rng);
    Problem copy;
    for (const auto field : problem_fields()) {
      ASSERT_FALSE(set_field(copy, field, field_text(problem, field))) << field;
    }
    ASSERT_EQ(copy, problem);
  }
  Problem unchanged;
  const auto wrong = set_field(unchanged, "lad", "1");
  ASSERT_TRUE(wrong);
  EXPECT_EQ(wrong->suggestion, "lda");
  EXPECT_EQ(field_text(unchanged, "lad"), "");
}

}  // namespace
}  // namespace tilewright
