// SPDX-License-Identifier: Apache-2.0
// The mask is exact: it offers what a legal program continues with, and nothing else.
#include "learn/mask.h"

#include "base/file.h"
#include "learn/family_walk.h"
#include "program/space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

namespace tilewright {
namespace {

using ::testing::HasSubstr;

Device h200() {
  return device_from_json(*read_file(TILEWRIGHT_SOURCE_DIR "/devices/h200.json")).value();
}
Device processor() {
  Device device;
  device.isa = {"avx2", "avx512bf16", "avx512bw", "avx512dq", "avx512f", "avx512vl", "f16c", "fma"};
  device.cores = 16;
  return device;
}
Problem problem(std::string_view text) {
  return parse_problem(text).value();
}

// All texts that a mask lets be written, as programs.
std::set<std::string> all_texts(const TokenMask& mask) {
  std::set<std::string> out;
  std::vector<int> tokens;
  const std::function<void(const MaskState&)> walk = [&](const MaskState& state) {
    if (state.done()) {
      const auto program = decode_program(tokens);
      ASSERT_TRUE(program) << text_of(tokens);
      EXPECT_TRUE(out.insert(program->text()).second);
      return;
    }
    const auto legal = mask.legal(state);
    EXPECT_FALSE(legal.empty()) << "a dead end after " << text_of(tokens);
    for (const int token : legal) {
      MaskState next = state;
      ASSERT_TRUE(mask.advance(next, token));
      tokens.push_back(token);
      walk(next);
      tokens.pop_back();
    }
  };
  if (mask.any()) walk(mask.begin());
  return out;
}

// An invented family whose rules leave dead ends: some prefixes of values that are each allowed
// lead nowhere, and it has decisions that do not exist.
Family maze() {
  Family family{.name = "maze", .decisions = {}, .rules = {}};
  family.decisions = {{"a", {"0", "1", "2", "3"}, {}, ""},
                      {"b", {"0", "1", "2"}, {{"a", {"1", "2"}}}, ""},
                      {"c", {"0", "1", "2", "3"}, {{"b", {"", "0", "2"}}}, ""},
                      {"d", {"0", "1", "2", "3", "4"}, {}, ""}};
  const auto refuse = [](bool wrong) {
    return wrong ? std::optional<std::string>("no") : std::nullopt;
  };
  family.rules.push_back({"a-d", {"a", "d"}, [=](const Choices& c, const Problem&, const Device&) {
                            return refuse(c.number("a") + c.number("d") < 4);
                          }});
  family.rules.push_back({"b-d", {"b", "d"}, [=](const Choices& c, const Problem&, const Device&) {
                            return refuse(c.is("b", "2") && c.number("d") > 2);
                          }});
  family.rules.push_back({"c-d", {"c", "d"}, [=](const Choices& c, const Problem&, const Device&) {
                            return refuse(c.number("c") * 2 != c.number("d") &&
                                          !c.word("c").empty());
                          }});
  return family;
}

TEST(FamilyWalk, FindsExactlyWhatBruteForceFinds) {
  const Family family = maze();
  const Problem p = problem("8x8x8");
  const Device d;
  FamilyWalk walk(family, p, d);
  ASSERT_TRUE(walk.any());
  std::set<std::vector<Choice>> walked, wanted;
  const std::function<void(Choices, std::size_t)> go = [&](Choices choices, std::size_t i) {
    walk.skip_absent(choices, i);
    if (i == family.decisions.size()) {
      walked.emplace(choices.raw().begin(), choices.raw().end());
      return;
    }
    const auto values = walk.next(choices, i);
    ASSERT_FALSE(values.empty());
    for (const Choice value : values) {
      Choices next = choices;
      next.set(i, value);
      go(next, i + 1);
    }
  };
  go(Choices(family), 0);
  const std::function<void(Choices, std::size_t)> brute = [&](Choices choices, std::size_t i) {
    if (i == family.decisions.size()) {
      for (const Rule& rule : family.rules) {
        if (rule.refuse(choices, p, d)) return;
      }
      wanted.emplace(choices.raw().begin(), choices.raw().end());
      return;
    }
    if (!exists(family.decisions[i], choices)) {
      choices.set(i, kAbsent);
      return brute(choices, i + 1);
    }
    for (Choice v = 0; v < static_cast<Choice>(family.decisions[i].values.size()); ++v) {
      choices.set(i, v);
      brute(choices, i + 1);
    }
  };
  brute(Choices(family), 0);
  EXPECT_EQ(walked, wanted);
  EXPECT_GT(wanted.size(), 5u);
}

TEST(TokenMask, WritesExactlyTheLegalProgramsOfSmallSpaces) {
  Device small = processor();
  small.isa = {"avx2", "f16c", "fma"};
  small.cores = 1;
  for (const char* text : {"gemm 1x8x8 f16 acc=f32 nn", "gemm 2x4x16 bf16 acc=f32 nt"}) {
    const Problem p = problem(text);
    const Space space(*find_family("cpu"), p, small);
    const auto programs = space.enumerate(200000);
    ASSERT_TRUE(programs) << space.count();
    std::set<std::string> wanted;
    for (const Program& program : *programs) wanted.insert(program.text());
    EXPECT_EQ(all_texts(TokenMask(p, small)), wanted) << text;
  }
}

TEST(TokenMask, OffersWhatCountingOffersOnAGpu) {
  Rng rng(11);
  for (const char* text : {"gemm 64x64x512 f16 acc=f32 nn", "gemm 200x1000x777 bf16 acc=f32 nt"}) {
    const Problem p = problem(text);
    const TokenMask mask(p, h200());
    const Family& family = *find_family("sm80");
    const Space space(family, p, h200());
    for (int i = 0; i < 30; ++i) {
      MaskState state = mask.begin();
      if (!mask.advance(state, *find_word("sm80"))) FAIL();
      Choices choices(family);
      for (std::size_t d = 0; d < family.decisions.size(); ++d) {
        if (!exists(family.decisions[d], choices)) {
          choices.set(d, kAbsent);
          continue;
        }
        const auto values = space.next(choices);
        std::set<int> wanted;
        for (const Choice v : values) {
          wanted.insert(*find_word(std::string(family.decisions[d].key) + "=" +
                                   std::string(family.decisions[d].values[std::size_t(v)])));
        }
        const auto legal = mask.legal(state);
        ASSERT_EQ(std::set<int>(legal.begin(), legal.end()), wanted);
        const std::size_t pick = rng.below(values.size());
        choices.set(d, values[pick]);
        const auto& words = family.decisions[d].values;
        ASSERT_TRUE(mask.advance(
            state, *find_word(std::string(family.decisions[d].key) + "=" +
                              std::string(words[static_cast<std::size_t>(values[pick])]))));
      }
    }
  }
}

TEST(TokenMask, EverySampleOfAHundredThousandIsLegal) {
  Rng rng(1);
  const std::vector<Device> devices = {processor(), h200()};
  constexpr std::array<const char*, 6> kForms = {"f16 acc=f32 nn",
                                                 "bf16 acc=f32 nt",
                                                 "f16 acc=f32 tn",
                                                 "f16 acc=f16 nn",
                                                 "f16 acc=f32 nn out=f32 beta=any alpha=any",
                                                 "bf16 acc=f32 nn batch=7"};
  int samples = 0, tasks = 0;
  std::set<std::string> families_seen;
  while (samples < 100000) {
    Problem p = problem(std::string("gemm 1x1x1 ") + kForms[rng.below(kForms.size())]);
    const auto size = [&] {
      const auto power = std::int64_t{1} << rng.below(14);
      return rng.below(3) == 0 ? power
                               : 1 + static_cast<std::int64_t>(rng.below(2 * std::uint64_t(power)));
    };
    p.m = size();
    p.n = size();
    p.k = size();
    const Device& device = devices[rng.below(2)];
    const TokenMask mask(p, device);
    ++tasks;
    for (int i = 0; mask.any() && i < 800; ++i, ++samples) {
      const bool analysis = rng.below(4) == 0;
      const auto text = draw_text(mask, analysis, rng);
      ASSERT_TRUE(text);
      const auto program = program_of(*text);
      ASSERT_TRUE(program) << program.error().message;
      ASSERT_TRUE(is_legal(*program, p, device)) << to_text(p) << ": " << program->text();
      if (i == 0) families_seen.emplace(program->family().name);
      if (i < 20) {
        ASSERT_EQ(masked(mask, analysis, text->tokens).value(), *text);
      }
    }
  }
  EXPECT_GT(tasks, 100);
  EXPECT_EQ(families_seen, (std::set<std::string>{"cpu", "sm80", "sm90"}));
}

TEST(TokenMask, OfAListWritesTheListAndNothingElse) {
  Rng rng(5);
  const Problem p = problem("512x512x512");
  const TokenMask all(p, h200());
  std::vector<Program> list;
  std::set<std::string> wanted;
  for (int i = 0; i < 200; ++i) {
    list.push_back(program_of(*draw_text(all, false, rng)).value());
    wanted.insert(list.back().text());
  }
  list.push_back(list.front());
  // Of another problem, and not legal here.
  const Problem other = problem("4096x16x64");
  const TokenMask elsewhere(other, h200());
  for (int i = 0; i < 50; ++i) {
    list.push_back(program_of(*draw_text(elsewhere, false, rng)).value());
    if (is_legal(list.back(), p, h200())) wanted.insert(list.back().text());
  }
  const TokenMask mask(p, h200(), list);
  EXPECT_EQ(all_texts(mask), wanted);
  EXPECT_FALSE(TokenMask(p, processor(), list).any());
  EXPECT_FALSE(draw_text(TokenMask(p, processor(), list), true, rng));
}

TEST(TokenMask, ForbidsAndSaysWhat) {
  const TokenMask mask(problem("512x512x512"), processor());
  MaskState state = mask.begin();
  EXPECT_FALSE(mask.advance(state, *find_word("sm90")));
  EXPECT_FALSE(mask.advance(state, -1));
  EXPECT_TRUE(mask.advance(state, *find_word("cpu")));
  const auto wrong = masked(mask, false, tokens_of("cpu isa=avx2 form=dot").value());
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message, HasSubstr("'form=dot' may not stand at place 3"));
  EXPECT_THAT(wrong.error().hint, HasSubstr("form=direct"));
  EXPECT_THAT(masked(mask, false, tokens_of("cpu").value()).error().message,
              HasSubstr("ends after"));
  EXPECT_FALSE(masked(mask, false, std::vector<int>{1 << 20}));
  // f32 inputs: no family has a program.
  Problem wide = problem("8x8x8");
  wide.in = ElementType::f32;
  EXPECT_FALSE(TokenMask(wide, h200()).any());
}

}  // namespace
}  // namespace tilewright
