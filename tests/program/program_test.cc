// SPDX-License-Identifier: Apache-2.0
// Printing, parsing, refusing.
#include "program/program.h"

#include "program/devices.h"
#include "program/family_cpu.h"
#include "program/space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace tilewright {
namespace {

using ::testing::HasSubstr;

TEST(Program, ParsesWhatItPrints) {
  Rng rng(21);
  for (const char* text : {"8x1536x1024 bf16 acc=f32 nn", "128x128x777 f16 acc=f32 nt batch=3",
                           "300x40x64 bf16 acc=f32 tt"}) {
    const Space space(cpu_family(), parse_problem(text).value(), avx512_device(4));
    for (int i = 0; i < 500; ++i) {
      const Program program = space.sample(rng).value();
      const auto again = parse_program(program.text());
      ASSERT_TRUE(again.has_value()) << again.error().message;
      EXPECT_EQ(*again, program);
      EXPECT_EQ(again->text(), program.text());
    }
  }
}

TEST(Program, WordsMayComeInAnyOrder) {
  const auto a = parse_program(
      "cpu isa=avx2 form=dot threads=1 mr=1 nr=4 packa=f32 unroll=1 prefetch_bytes=0 order=nm "
      "sizes=runtime");
  const auto b = parse_program(
      "cpu sizes=runtime  order=nm prefetch_bytes=0 unroll=1 packa=f32 nr=4 mr=1 threads=1 "
      "form=dot isa=avx2");
  ASSERT_TRUE(a.has_value()) << a.error().message;
  ASSERT_TRUE(b.has_value()) << b.error().message;
  EXPECT_EQ(*a, *b);
}

// tests/cases/program_errors.txt: text | part of the message | part of the hint
TEST(Program, ErrorsPointAtTheFault) {
  std::ifstream file(TILEWRIGHT_SOURCE_DIR "/tests/cases/program_errors.txt");
  ASSERT_TRUE(file.is_open());
  std::string line;
  int cases = 0;
  while (std::getline(file, line)) {
    if (line.empty() || line.front() == '#') continue;
    // Values may be joined by bars; those between cells have blanks around them.
    const std::size_t first = line.find('|'), second = line.find(" |", first + 1) + 1;
    ASSERT_NE(second, 0U) << line;
    const auto cut = [&](std::size_t from, std::size_t to) {
      std::string part = line.substr(from, to - from);
      const std::size_t begin = part.find_first_not_of(' ');
      if (begin == std::string::npos) return std::string();
      return part.substr(begin, part.find_last_not_of(' ') - begin + 1);
    };
    const auto program = parse_program(line.substr(0, first));
    ASSERT_FALSE(program.has_value()) << line;
    EXPECT_EQ(program.error().code, ErrorCode::usage);
    EXPECT_THAT(program.error().message, HasSubstr(cut(first + 1, second)));
    EXPECT_THAT(program.error().hint, HasSubstr(cut(second + 1, line.size())));
    ++cases;
  }
  EXPECT_GE(cases, 8);
}

TEST(Program, RefusalsNameRuleAndValues) {
  const auto program = parse_program(
      "cpu isa=avx512bf16 form=blocked threads=4 split=n mr=16 nr=64 kc=0 mc=24 nc=0 packb=f32 "
      "unroll=1 prefetch=0 order=nm sizes=runtime");
  ASSERT_TRUE(program.has_value()) << program.error().message;
  const Problem problem = parse_problem("8x1536x1024 f16 acc=f32 nn").value();
  std::map<std::string, std::string> reasons;
  for (const Refusal& r : refusals(*program, problem, avx2_device(2))) reasons[r.rule] = r.reason;
  EXPECT_THAT(reasons["isa-available"], HasSubstr("needs avx512"));
  EXPECT_THAT(reasons["isa-type"], HasSubstr("not f16"));
  EXPECT_THAT(reasons["threads-available"], HasSubstr("threads=4 but the device offers 2"));
  EXPECT_THAT(reasons["tile-height"], HasSubstr("mr=16 exceeds M=8"));
  EXPECT_THAT(reasons["registers"], HasSubstr("of 32"));
  EXPECT_THAT(reasons["mc-block"], HasSubstr("mc=24 is not smaller than M=8"));
  EXPECT_THAT(reasons["packb-isa"], HasSubstr("packb=pair"));
}

TEST(Program, AnF16AccumulatorIsNeverServedByF32Kernels) {
  const Problem problem = parse_problem("8x64x64 f16 acc=f16 nn").value();
  EXPECT_EQ(Space(cpu_family(), problem, avx512_device(2)).count(), 0);
}

// The section of a family, so that no family leans on another's words; what they share may be said
// once, as a list of names.
TEST(Program, TheDocumentNamesEveryDecisionAndRule) {
  std::ifstream file(TILEWRIGHT_SOURCE_DIR "/docs/program-language.md");
  std::stringstream text;
  text << file.rdbuf();
  for (const Family* family : families()) {
    const std::size_t from = text.str().find("## Family `" + std::string(family->name) + "`");
    ASSERT_NE(from, std::string::npos) << family->name;
    const std::string section = text.str().substr(from, text.str().find("\n## ", from + 1) - from);
    for (const Decision& decision : family->decisions) {
      EXPECT_THAT(section, HasSubstr("`" + std::string(decision.key) + "`"));
      EXPECT_FALSE(decision.help.empty()) << decision.key;
    }
    for (const Rule& rule : family->rules) {
      EXPECT_THAT(section, HasSubstr("`" + std::string(rule.name) + "`"));
    }
  }
}

// Programs in the document's code blocks parse.
TEST(Program, TheDocumentsExamplesParse) {
  std::ifstream file(TILEWRIGHT_SOURCE_DIR "/docs/program-language.md");
  std::string line;
  std::map<std::string_view, int> seen;
  while (std::getline(file, line)) {
    for (const Family* family : families()) {
      if (!line.starts_with(std::string(family->name) + " ")) continue;
      const auto program = parse_program(line);
      EXPECT_TRUE(program.has_value()) << line << "\n" << program.error().message;
      ++seen[family->name];
    }
  }
  EXPECT_GE(seen["cpu"], 1);
  EXPECT_GE(seen["sm80"], 2);
  EXPECT_GE(seen["sm90"], 3);
}

TEST(Vocabulary, IsClosedAndWithoutDuplicates) {
  const auto all = vocabulary();
  EXPECT_EQ(all.front(), "cpu");
  // Behind the end token: what came after it, without moving what was there.
  std::set<std::string> general;
  for (const Family* family : families()) {
    if (!family->computes(Op::gemm)) general.emplace(family->name);
  }
  const auto end = std::ranges::find(all, kEndToken);
  ASSERT_NE(end, all.end());
  EXPECT_TRUE(general.contains(*(end + 1)));
  EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), all.size());
}

}  // namespace
}  // namespace tilewright
