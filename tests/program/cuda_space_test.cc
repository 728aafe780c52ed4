// SPDX-License-Identifier: Apache-2.0
// What is derived from the tables of the CUDA families: counts, samples, masks and moves. The
// spaces are too large for brute force, so brute force takes the tails of prefixes.
#include "program/space.h"

#include "device/invented_gpu.h"
#include "program/devices.h"
#include "program/family_cpu.h"
#include "program/family_cuda.h"
#include "program/grammar.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

namespace tilewright {
namespace {

struct Ground {
  const Family* family;
  Device device;
  Problem problem;
};

std::vector<Ground> grounds() {
  constexpr std::array kProblems = {
      "8x1536x1024 bf16 acc=f32 nn",
      "4096x4096x4096 f16 acc=f16 tn",
      "1x64x320 f16 acc=f32 nt out=f32 alpha=any beta=any",
      "520x136x1096 bf16 acc=f32 tt batch=3",
  };
  std::vector<Ground> all;
  for (const char* text : kProblems) {
    const Problem problem = parse_problem(text).value();
    all.push_back({&sm80_family(), invented_a100(), problem});
    all.push_back({&sm80_family(), invented_rtx4090(), problem});
    all.push_back({&sm80_family(), invented_h200(), problem});
    all.push_back({&sm90_family(), invented_h200(), problem});
  }
  return all;
}

std::string said(const Ground& ground) {
  return std::string(ground.family->name) + " on " + ground.device.name + ": " +
         to_text(ground.problem);
}

// Legal completions of the first `decided` choices, by asking every rule about every tail.
double brute_force(const Ground& ground, Choices choices, std::size_t decided) {
  double count = 0;
  const auto walk = [&](const auto& self, std::size_t i) -> void {
    const auto& decisions = ground.family->decisions;
    if (i == decisions.size()) {
      count += is_legal(Program(choices), ground.problem, ground.device) ? 1 : 0;
      return;
    }
    if (!exists(decisions[i], choices)) {
      choices.set(i, kAbsent);
      self(self, i + 1);
    } else {
      for (std::size_t v = 0; v < decisions[i].values.size(); ++v) {
        choices.set(i, static_cast<Choice>(v));
        self(self, i + 1);
      }
    }
    choices.set(i, kOpen);
  };
  walk(walk, decided);
  return count;
}

TEST(CudaSpace, PrefixesAreCountedAsBruteForceCountsTheirTails) {
  Rng rng(31);
  for (const Ground& ground : grounds()) {
    const Space space(*ground.family, ground.problem, ground.device);
    const std::size_t depth = ground.family->decisions.size();
    for (int i = 0; i < 6; ++i) {
      const Program program = space.sample(rng).value();
      Choices prefix(*ground.family);
      const std::size_t decided = depth - 5 + rng.below(3);
      for (std::size_t d = 0; d < decided; ++d) prefix.set(d, program.choices().at(d));
      EXPECT_EQ(space.completions(prefix), brute_force(ground, prefix, decided))
          << said(ground) << ": " << program.text();
      // With another value somewhere the prefix may be illegal: then nothing completes it.
      const std::size_t moved = rng.below(decided);
      const auto& decision = ground.family->decisions[moved];
      if (prefix.at(moved) < 0) continue;
      prefix.set(moved, static_cast<Choice>(rng.below(decision.values.size())));
      bool sound = true;  // conditions still say the same
      for (std::size_t d = 0; d < decided; ++d) {
        sound = sound && exists(ground.family->decisions[d], prefix) == (prefix.at(d) >= 0);
      }
      if (!sound) continue;
      EXPECT_EQ(space.completions(prefix), brute_force(ground, prefix, decided))
          << said(ground) << ": " << program.text() << " with another " << decision.key;
    }
  }
}

TEST(CudaSpace, EnumeratesWhatItCounts) {
  for (const auto& [family, text] : {std::pair{&sm80_family(), "1x8x48 f16 acc=f32 nt"},
                                     {&sm90_family(), "1x8x64 f16 acc=f32 nt"}}) {
    const Problem problem = parse_problem(text).value();
    const Space space(*family, problem, invented_h200());
    const auto all = space.enumerate(100000);
    ASSERT_TRUE(all.has_value()) << space.count();
    EXPECT_EQ(static_cast<double>(all->size()), space.count());
    EXPECT_GT(all->size(), 0U);
    std::set<std::string> distinct;
    for (const Program& program : *all) {
      EXPECT_TRUE(is_legal(program, problem, invented_h200())) << program.text();
      distinct.insert(program.text());
    }
    EXPECT_EQ(distinct.size(), all->size());
  }
}

TEST(CudaSpace, SamplesAreLegalVariedAndPrintable) {
  Rng rng(33);
  for (const Ground& ground : grounds()) {
    const Space space(*ground.family, ground.problem, ground.device);
    EXPECT_GT(space.count(), 100) << said(ground);
    std::set<std::string> distinct;
    for (int i = 0; i < 100; ++i) {
      const Program program = space.sample(rng).value();
      const auto refused = refusals(program, ground.problem, ground.device);
      EXPECT_TRUE(refused.empty()) << said(ground) << ": " << program.text() << ": "
                                   << refused.front().rule << ": " << refused.front().reason;
      const auto again = parse_program(program.text());
      ASSERT_TRUE(again.has_value()) << again.error().message;
      EXPECT_EQ(*again, program);
      distinct.insert(program.text());
    }
    EXPECT_GT(distinct.size(), 50U) << said(ground);
  }
}

// The same demand as on the cpu family: an undeclared decision would make the counts wrong.
TEST(CudaSpace, RulesReadOnlyWhatTheyDeclare) {
  Rng rng(35);
  for (const Ground& ground : grounds()) {
    const Family& family = *ground.family;
    for (int trial = 0; trial < 200; ++trial) {
      Choices choices(family);
      for (std::size_t i = 0; i < family.decisions.size(); ++i) {
        choices.set(i, static_cast<Choice>(rng.below(family.decisions[i].values.size())));
      }
      for (const Rule& rule : family.rules) {
        Choices reduced(family);
        for (const std::string_view key : rule.reads) {
          const std::size_t index = family.find(key).value();
          reduced.set(index, choices.at(index));
        }
        EXPECT_EQ(rule.refuse(choices, ground.problem, ground.device),
                  rule.refuse(reduced, ground.problem, ground.device))
            << family.name << ": " << rule.name;
      }
    }
  }
}

TEST(CudaSpace, FamiliesKeepToTheirDevices) {
  const Problem problem = parse_problem("512x512x512 f16 acc=f32 nn").value();
  EXPECT_EQ(Space(sm90_family(), problem, invented_a100()).count(), 0);
  EXPECT_EQ(Space(sm90_family(), problem, invented_rtx4090()).count(), 0);
  EXPECT_EQ(Space(sm80_family(), problem, avx512_device(2)).count(), 0);
  EXPECT_EQ(Space(cpu_family(), problem, invented_h200()).count(), 0);
  for (const Device& device : {invented_a100(), invented_rtx3090(), invented_h200()}) {
    EXPECT_GT(Space(sm80_family(), problem, device).count(), 10000) << device.name;
  }
  EXPECT_GT(Space(sm90_family(), problem, invented_h200()).count(), 10000);
}

TEST(CudaSpace, AnF16AccumulatorIsForF16Only) {
  Problem bf16 = parse_problem("512x512x512 bf16 acc=f32 nn").value();
  bf16.acc = Accumulator::f16;  // no text says so
  for (const Family* family : {&sm80_family(), &sm90_family()}) {
    EXPECT_EQ(Space(*family, bf16, invented_h200()).count(), 0);
  }
}

// Empty products have one way at least: C must be scaled or cleared.
TEST(CudaSpace, EmptyAndTinyProblemsHaveAProgram) {
  for (const char* text : {"16x16x0 f16 acc=f32 nn", "1x1x1 f16 acc=f32 nn", "0x16x16 f16 acc=f32",
                           "1x105x107 bf16 acc=f32 tt", "3x5x7 f16 acc=f16 tn"}) {
    EXPECT_GT(Space(sm80_family(), parse_problem(text).value(), invented_a100()).count(), 0)
        << text;
  }
}

TEST(CudaGrammar, WalksEndInLegalProgramsOfBothFamilies) {
  const Problem problem = parse_problem("64x1024x2048 f16 acc=f32 nt").value();
  const Device device = invented_h200();
  const Grammar grammar(problem, device);
  Rng rng(37);
  std::set<std::string> families_seen;
  for (int i = 0; i < 40; ++i) {
    std::vector<std::string> tokens;
    for (;;) {
      const std::vector<int> ids = grammar.next(tokens);
      ASSERT_FALSE(ids.empty());
      const std::string& token = vocabulary()[static_cast<std::size_t>(ids[rng.below(ids.size())])];
      if (token == kEndToken) break;
      tokens.push_back(token);
    }
    std::string text;
    for (const std::string& token : tokens) text += token + " ";
    const auto program = parse_program(text);
    ASSERT_TRUE(program.has_value()) << text << program.error().message;
    EXPECT_TRUE(is_legal(*program, problem, device)) << text;
    EXPECT_EQ(program->tokens(), tokens);
    families_seen.insert(tokens.front());
  }
  EXPECT_EQ(families_seen, (std::set<std::string>{"sm80", "sm90"}));
}

TEST(CudaGrammar, OffersEverySampledProgram) {
  const Problem problem = parse_problem("200x1024x2048 bf16 acc=f32 nn").value();
  const Grammar grammar(problem, invented_h200());
  Rng rng(39);
  for (const Family* family : {&sm80_family(), &sm90_family()}) {
    const Space space(*family, problem, invented_h200());
    for (int i = 0; i < 20; ++i) {
      std::vector<std::string> prefix, tokens = space.sample(rng)->tokens();
      tokens.emplace_back(kEndToken);
      for (const std::string& token : tokens) {
        const std::vector<int> ids = grammar.next(prefix);
        EXPECT_TRUE(std::ranges::any_of(ids, [&](int id) {
          return vocabulary()[static_cast<std::size_t>(id)] == token;
        })) << token;
        prefix.push_back(token);
      }
    }
  }
  EXPECT_TRUE(next_legal_tokens({"cpu"}, problem, invented_h200()).empty());
  EXPECT_TRUE(next_legal_tokens({"sm90"}, problem, invented_a100()).empty());
  EXPECT_TRUE(
      next_legal_tokens({"sm90", "schedule=single", "consumers=2"}, problem, invented_h200())
          .empty());
}

TEST(CudaVariation, MovesAreLegalAndDiffer) {
  Rng rng(41);
  for (const Ground& ground : grounds()) {
    const Space space(*ground.family, ground.problem, ground.device);
    int crossed = 0;
    for (int i = 0; i < 12; ++i) {
      const Program a = space.sample(rng).value(), b = space.sample(rng).value();
      const auto mutant = mutate(space, a, rng);
      ASSERT_TRUE(mutant.has_value()) << a.text();
      EXPECT_TRUE(is_legal(*mutant, ground.problem, ground.device)) << mutant->text();
      EXPECT_FALSE(*mutant == a);
      const auto child = crossover(space, a, b, rng);
      if (!child) continue;
      ++crossed;
      EXPECT_TRUE(is_legal(*child, ground.problem, ground.device)) << child->text();
      EXPECT_FALSE(*child == a || *child == b);
    }
    EXPECT_GT(crossed, 6) << said(ground);
    const Program program = space.sample(rng).value();
    const auto all = neighbours(space, program);
    EXPECT_GT(all.size(), 3U) << program.text();
    for (const Program& other : all) {
      EXPECT_TRUE(is_legal(other, ground.problem, ground.device)) << other.text();
      int changed = 0;
      for (std::size_t d = 0; d < ground.family->decisions.size(); ++d) {
        const Choice before = program.choices().at(d), after = other.choices().at(d);
        changed += before >= 0 && after >= 0 && before != after;
      }
      EXPECT_EQ(changed, 1) << program.text() << "\n" << other.text();
    }
  }
}

// Ids are positions: families of gemm in order, then each family's tokens in its tables' order.
TEST(CudaVocabulary, TokensStandInTheOrderOfTheTables) {
  const auto all = vocabulary();
  const auto at = [&](const std::string& token) {
    return std::ranges::find(all, token) - all.begin();
  };
  EXPECT_EQ(all[0], "cpu");
  EXPECT_EQ(all[1], "sm80");
  EXPECT_EQ(all[2], "sm90");
  std::ptrdiff_t last = 2;
  std::set<std::string> earlier;
  for (const Family* family : families()) {
    if (!family->computes(Op::gemm)) continue;
    for (const Decision& decision : family->decisions) {
      for (const std::string_view value : decision.values) {
        const std::string token = std::string(decision.key) + "=" + std::string(value);
        ASSERT_LT(static_cast<std::size_t>(at(token)), all.size()) << token;
        if (!earlier.insert(token).second) continue;  // shared with an earlier family
        EXPECT_EQ(at(token), last + 1) << token;
        last = at(token);
      }
    }
  }
  EXPECT_EQ(all[static_cast<std::size_t>(last) + 1], kEndToken);
}

}  // namespace
}  // namespace tilewright
