// SPDX-License-Identifier: Apache-2.0
// Suites from files, arguments and the program itself. tests/cases/suite_csv holds a pair of files
// for each way to get a CSV wrong (CASES C16): the bytes, and what must be said of every row.
#include "problem/suite.h"

#include "base/file.h"
#include "base/rng.h"
#include "base/text.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace tilewright {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string described(const Result<Suite>& suite) {
  if (!suite) return fmt::format("error | {}\n", suite.error().message);
  std::string text;
  for (const auto& e : suite->entries) {
    text += fmt::format("entry {} | {}{}{}\n", e.line, to_text(e.problem),
                        e.label.empty() ? "" : " | ", e.label);
  }
  for (const auto& row : suite->bad) text += fmt::format("bad {} | {}\n", row.line, row.reason);
  for (const auto& row : suite->notes) text += fmt::format("note {} | {}\n", row.line, row.reason);
  return text;
}

std::vector<std::string> texts(const Suite& suite) {
  std::vector<std::string> list;
  for (const auto& e : suite.entries) list.push_back(to_text(e.problem));
  return list;
}

TEST(SuiteCsv, Cases) {
  int count = 0;
  for (const auto& file : fs::directory_iterator(TILEWRIGHT_SOURCE_DIR "/tests/cases/suite_csv")) {
    if (file.path().extension() != ".csv") continue;
    auto expected = file.path();
    expected.replace_extension(".expected");
    const auto bytes = read_file(file.path()).value();
    EXPECT_EQ(described(parse_csv(bytes, file.path().stem().string())), read_file(expected).value())
        << file.path();
    ++count;
  }
  EXPECT_GT(count, 20);
}

TEST(SuiteCsv, ReadsWhatItWrites) {
  const auto text = read_file(TILEWRIGHT_SOURCE_DIR "/tests/cases/suite_csv/all_columns.csv");
  for (const auto& suite : {parse_csv(text.value(), "all").value(), read_suite("@demo").value(),
                            read_suite("@llm").value(), read_suite("1,2x3x4 bf16 nt").value()}) {
    const auto back = parse_csv(to_csv(suite), "back").value();
    EXPECT_THAT(back.bad, IsEmpty());
    EXPECT_EQ(texts(back), texts(suite));
    for (std::size_t i = 0; i < back.entries.size(); ++i) {
      EXPECT_EQ(back.entries[i].label, suite.entries[i].label);
    }
  }
  EXPECT_EQ(to_csv(read_suite("1,2x3x4").value()), "m,n,k\n1,3,4\n2,3,4\n");
}

TEST(SuiteCsv, CutOrDamagedAnywhereItNeverCrashes) {
  const auto text =
      read_file(TILEWRIGHT_SOURCE_DIR "/tests/cases/suite_csv/all_columns.csv").value();
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const auto suite = parse_csv(std::string_view(text).substr(0, i), "cut");
    if (!suite) continue;
    EXPECT_LE(suite->entries.size() + suite->bad.size(), 3U);
  }
  Rng rng(31);
  for (int round = 0; round < 5000; ++round) {
    auto damaged = text;
    for (int i = 0; i < 5; ++i) {
      damaged[rng.below(damaged.size())] = static_cast<char>(rng.below(256));
    }
    const auto suite = parse_csv(damaged, "damaged");
    if (!suite) continue;
    for (const auto& e : suite->entries) EXPECT_TRUE(check(e.problem));
    for (const auto& row : suite->bad) EXPECT_EQ(row.reason.find('\n'), std::string::npos);
  }
}

TEST(ReadSuite, OneProblem) {
  for (const char* argument : {"64x4096x64", "64_4096_64", "gemm 64x4096x64 f16 acc=f32 nn"}) {
    const auto suite = read_suite(argument);
    ASSERT_TRUE(suite) << argument;
    EXPECT_EQ(texts(*suite), std::vector<std::string>{"gemm 64x4096x64 f16 acc=f32 nn"});
  }
  EXPECT_EQ(texts(read_suite("gemm 1x2x3 bf16 nt").value()),
            std::vector<std::string>{"gemm 1x2x3 bf16 acc=f32 nt"});
  EXPECT_EQ(texts(read_suite("16x16x0").value()).size(), 1U);  // legal alone, CASES N01
}

TEST(ReadSuite, RangesAndListsAreCrossed) {
  const auto suite = read_suite("64:1024:64x512,1024x4096").value();
  EXPECT_EQ(suite.entries.size(), 32U);
  EXPECT_EQ(to_text(suite.entries.front().problem), "gemm 64x512x4096 f16 acc=f32 nn");
  EXPECT_EQ(to_text(suite.entries.back().problem), "gemm 1024x1024x4096 f16 acc=f32 nn");
  struct Case {
    const char* argument;
    std::vector<std::int64_t> sizes;  // of M
  };
  for (const auto& [argument, sizes] :
       std::vector<Case>{{"64:100:10x1x1", {64, 74, 84, 94}},
                         {"5:5:1x1x1", {5}},
                         {"1:100:*3x1x1", {1, 3, 9, 27, 81}},
                         {"1,8:10:1,64x1x1", {1, 8, 9, 10, 64}},
                         {"1:2:9223372036854775807x1x1", {1}},
                         {"1:1099511627775:*9223372036854775807x1x1", {1}},
                         {"549755813888:1099511627775:*2x1x1", {549755813888}}}) {
    const auto made = read_suite(argument);
    ASSERT_TRUE(made) << argument << ": " << made.error().message;
    std::vector<std::int64_t> actual;
    for (const auto& e : made->entries) actual.push_back(e.problem.m);
    EXPECT_EQ(actual, sizes) << argument;
  }
  const auto words = read_suite("gemm 8,16x8x8 bf16 nt beta=one").value();
  EXPECT_EQ(texts(words), (std::vector<std::string>{"gemm 8x8x8 bf16 acc=f32 nt beta=one",
                                                    "gemm 16x8x8 bf16 acc=f32 nt beta=one"}));
  const auto twice = read_suite("8,16,8x8x8").value();
  EXPECT_EQ(twice.entries.size(), 2U);
  EXPECT_EQ(twice.notes.size(), 1U);
}

TEST(ReadSuite, ErrorsNameTheArgument) {
  struct Case {
    const char *argument, *part;
  };
  for (const auto& [argument, part] :
       std::vector<Case>{{"", "is empty"},
                         {"  ", "is empty"},
                         {"64:1024x64x64", "M='64:1024'"},
                         {"64:1024:0x64x64", "M='64:1024:0'"},
                         {"64:1024:-64x64x64", "M='64:1024:-64'"},
                         {"64:1024:*1x64x64", "M='64:1024:*1'"},
                         {"1024:64:64x64x64", "M='1024:64:64'"},
                         {"64x0:64:64x64", "N='0:64:64'"},
                         {"64x64x1,0", "K='0'"},
                         {"64x64x1,,2", "K=''"},
                         {"64x64x12e3,1", "K='12e3'"},
                         {"1,2x3", "has 2 axes"},
                         {"1:1099511627776:1x1x1", "2^40"},
                         {"1:1000000:1x1x1", "over 100000 sizes"},
                         {"1:1000:1x1:1000:1x1", "more than 100000 problems"},
                         {"1,2x3x4 f61", "'f61'"},
                         {"64x64", "'64x64' is not three sizes"},
                         {"12e3x4x5", "m='12e3'"},
                         {"gemm", "the sizes MxNxK are missing"},
                         {"no-such-file.csv", "no-such-file.csv"},
                         {"/no/such/folder/file", "/no/such/folder/file"},
                         {"/tmp", "/tmp"},
                         {"/dev/null", "empty"},
                         {"@", "there is no suite '@'"},
                         {"@grid100", "there is no suite '@grid100'"}}) {
    const auto suite = read_suite(argument);
    ASSERT_FALSE(suite) << argument;
    EXPECT_EQ(suite.error().code, ErrorCode::usage) << argument;
    EXPECT_THAT(suite.error().message, HasSubstr(part)) << argument;
    EXPECT_FALSE(suite.error().hint.empty()) << argument;
  }
  EXPECT_THAT(read_suite("@grid100").error().hint,
              AllOf(HasSubstr("did you mean '@grid1000'?"), HasSubstr("@demo")));
}

TEST(ReadSuite, AFileAndStandardInput) {
  const std::string path = TILEWRIGHT_SOURCE_DIR "/tests/cases/suite_csv/two_of_four.csv";
  const auto suite = read_suite(path).value();
  EXPECT_EQ(suite.name, path);
  EXPECT_EQ(suite.entries.size(), 2U);  // CASES C17: these two and no others
  ASSERT_NE(::freopen(path.c_str(), "r", stdin), nullptr);
  const auto piped = read_suite("-").value();
  EXPECT_EQ(texts(piped), texts(suite));
}

TEST(Share, AnOrderFollowsFromItsSeed) {
  std::vector<Problem> list;
  for (std::int64_t m = 1; m <= 100; ++m) list.push_back({.m = m, .n = 8, .k = 8});
  const std::vector<Problem> once = shuffled(list, 7);
  EXPECT_EQ(once, shuffled(list, 7));
  EXPECT_NE(once, shuffled(list, 8));
  EXPECT_NE(once, list);
  EXPECT_TRUE(std::ranges::is_permutation(once, list));
  EXPECT_EQ(shuffled({}, 7), std::vector<Problem>{});
}

TEST(Share, PartsTogetherAreTheWhole) {
  std::vector<Problem> list, all;
  for (std::int64_t m = 1; m <= 10; ++m) list.push_back({.m = m, .n = 8, .k = 8});
  for (const char* part : {"1/3", "2/3", "3/3"}) {
    const auto some = part_of(list, part);
    ASSERT_TRUE(some) << part;
    EXPECT_GE(some->size(), 3U);
    all.insert(all.end(), some->begin(), some->end());
  }
  EXPECT_TRUE(std::ranges::is_permutation(all, list));
  EXPECT_EQ(part_of(list, "1/1"), list);
  EXPECT_EQ(part_of(list, "11/20")->size(), 0U);
  for (const char* wrong : {"", "1", "/", "0/2", "3/2", "-1/2", "1/2/3", "a/b", "1/"}) {
    EXPECT_FALSE(part_of(list, wrong)) << wrong;
  }
}

TEST(Builtin, ComeWithTheProgramWhole) {
  EXPECT_EQ(builtin_suites(),
            (std::vector<std::string>{"demo", "general", "grid1000", "llm", "odd", "untuned200"}));
  for (const auto& name : builtin_suites()) {
    const auto suite = read_suite("@" + name);
    ASSERT_TRUE(suite);
    EXPECT_THAT(suite->bad, IsEmpty()) << name;
    EXPECT_EQ(described(suite),
              described(parse_csv(
                  read_file(fmt::format("{}/shapes/{}.csv", TILEWRIGHT_SOURCE_DIR, name)).value(),
                  "@" + name)));
  }
  const auto grid = read_suite("@grid1000").value();
  EXPECT_EQ(grid.entries.size(), 1000U);  // the paper's, all distinct
  EXPECT_THAT(grid.notes, IsEmpty());
}

// The suite of `make demo` claims to be llm.csv with N and K divided by four, in both types.
TEST(Builtin, TheDemoIsOfRealLayers) {
  std::set<std::string> layers;
  const auto llm = read_suite("@llm").value();
  for (const auto& e : llm.entries) {
    layers.insert(fmt::format("{} {} {} {}", e.label, e.problem.m, e.problem.n, e.problem.k));
  }
  const auto demo = read_suite("@demo").value();
  EXPECT_THAT(demo.notes, IsEmpty());
  std::set<std::string> shapes[2];
  for (const auto& e : demo.entries) {
    const auto shape =
        fmt::format("{} {} {} {}", e.label, e.problem.m, e.problem.n * 4, e.problem.k * 4);
    EXPECT_TRUE(layers.contains(shape)) << shape;
    shapes[e.problem.in == ElementType::f16 ? 0 : 1].insert(shape);
  }
  EXPECT_GE(shapes[0].size(), 12U);
  EXPECT_EQ(shapes[0], shapes[1]);
}

// The header of untuned200.csv says how its shapes were drawn.
TEST(Builtin, TheUntunedShapesAreRandomOnes) {
  Rng rng(200);
  const auto size = [&rng] {
    return static_cast<std::int64_t>(std::exp(rng.uniform() * std::log(16385.0)));
  };
  std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> seen;
  const auto suite = read_suite("@untuned200").value();
  ASSERT_EQ(suite.entries.size(), 200U);
  EXPECT_THAT(suite.notes, IsEmpty());
  for (const auto& entry : suite.entries) {
    std::tuple<std::int64_t, std::int64_t, std::int64_t> shape;
    do {
      std::get<0>(shape) = size();
      std::get<1>(shape) = size();
      std::get<2>(shape) = size();
    } while (!seen.insert(shape).second);
    EXPECT_EQ(shape, std::tuple(entry.problem.m, entry.problem.n, entry.problem.k));
  }
}

}  // namespace
}  // namespace tilewright
