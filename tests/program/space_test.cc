// SPDX-License-Identifier: Apache-2.0
// The space against brute force, on an invented family and on corners of the cpu family.
#include "program/space.h"

#include "program/devices.h"
#include "program/family_cpu.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

namespace tilewright {
namespace {

// Four decisions, one of them conditional, three rules, one of which spans the whole path.
Family invented_family() {
  Family family;
  family.name = "invented";
  family.decisions = {{"a", {"1", "2", "3", "4"}, {}, ""},
                      {"b", {"x", "y", "z"}, {}, ""},
                      {"c", {"1", "2", "3"}, {{"b", {"y", "z"}}}, ""},
                      {"d", {"1", "2", "3", "4", "5"}, {}, ""}};
  family.rules = {
      {"odd-with-x",
       {"a", "b"},
       [](const Choices& c, const Problem&, const Device&) -> std::optional<std::string> {
         if (c.is("b", "x") && c.number("a") % 2 == 1) return "a is odd";
         return std::nullopt;
       }},
      {"sum",
       {"a", "c", "d"},
       [](const Choices& c, const Problem& p, const Device&) -> std::optional<std::string> {
         if (c.number("a") + c.number("c") + c.number("d") > p.k) return "sum exceeds K";
         return std::nullopt;
       }},
      {"d-parity",
       {"d"},
       [](const Choices& c, const Problem& p, const Device&) -> std::optional<std::string> {
         if (p.m == 7 && c.number("d") != 6) return "no d is 6: a dead end";
         return std::nullopt;
       }},
  };
  return family;
}

std::set<std::string> brute_force(const Family& family, const Problem& problem,
                                  const Device& device) {
  std::set<std::string> texts;
  Choices choices(family);
  const auto walk = [&](const auto& self, std::size_t i) -> void {
    if (i == family.decisions.size()) {
      const Program program(choices);
      if (is_legal(program, problem, device)) texts.insert(program.text());
      return;
    }
    if (!exists(family.decisions[i], choices)) {
      choices.set(i, kAbsent);
      self(self, i + 1);
    } else {
      for (std::size_t v = 0; v < family.decisions[i].values.size(); ++v) {
        choices.set(i, static_cast<Choice>(v));
        self(self, i + 1);
      }
    }
    choices.set(i, kOpen);
  };
  walk(walk, 0);
  return texts;
}

TEST(Space, CountsWhatBruteForceFinds) {
  const Family family = invented_family();
  const Device device = avx512_device(2);
  for (std::int64_t k = 0; k < 14; ++k) {
    Problem problem;
    problem.k = k;
    const Space space(family, problem, device);
    const std::set<std::string> expected = brute_force(family, problem, device);
    EXPECT_EQ(space.count(), static_cast<double>(expected.size())) << "K=" << k;
    std::set<std::string> listed;
    const auto all = space.enumerate(1000);
    ASSERT_TRUE(all.has_value());
    for (const Program& program : *all) listed.insert(program.text());
    EXPECT_EQ(listed, expected);
  }
}

TEST(Space, AnEmptySpaceOffersNothing) {
  const Family family = invented_family();
  Problem problem;
  problem.m = 7;
  problem.k = 100;
  const Space space(family, problem, avx512_device(2));
  EXPECT_EQ(space.count(), 0);
  EXPECT_TRUE(space.next(Choices(family)).empty());
  Rng rng(1);
  EXPECT_FALSE(space.sample(rng).has_value());
}

TEST(Space, SamplesUniformly) {
  const Family family = invented_family();
  Problem problem;
  problem.k = 8;
  const Space space(family, problem, avx512_device(2));
  const double count = space.count();
  Rng rng(7);
  std::map<std::string, int> seen;
  constexpr int kDraws = 40000;
  for (int i = 0; i < kDraws; ++i) ++seen[space.sample(rng)->text()];
  EXPECT_EQ(static_cast<double>(seen.size()), count);
  // Chi-squared with count-1 degrees of freedom: mean count-1, variance 2(count-1).
  const double expected = kDraws / count;
  double chi = 0;
  for (const auto& [text, n] : seen) chi += (n - expected) * (n - expected) / expected;
  EXPECT_LT(chi, count - 1 + 5 * std::sqrt(2 * (count - 1)));
}

TEST(Space, EveryPrefixIsCountedExactly) {
  const Family family = invented_family();
  Problem problem;
  problem.k = 7;
  const Device device = avx512_device(2);
  const Space space(family, problem, device);
  const auto all = space.enumerate(1000);
  ASSERT_TRUE(all.has_value());
  for (const Program& program : *all) {
    Choices prefix(family);
    for (std::size_t i = 0; i < family.decisions.size(); ++i) {
      const auto begins = [&](const Program& other) {
        for (std::size_t j = 0; j < i; ++j) {
          if (other.choices().at(j) != program.choices().at(j)) return false;
        }
        return true;
      };
      EXPECT_EQ(space.completions(prefix),
                static_cast<double>(std::count_if(all->begin(), all->end(), begins)));
      prefix.set(i, program.choices().at(i));
    }
  }
}

Problem decode() {
  return parse_problem("8x1536x1024 bf16 acc=f32 nn").value();
}

TEST(CpuSpace, IsLargeAndItsSamplesAreLegalAndVaried) {
  for (const char* text :
       {"8x1536x1024 bf16 acc=f32 nn", "128x1536x1024 f16 acc=f32 nn", "1x4096x1024 f16 acc=f32 nt",
        "33x65x17 bf16 acc=f32 tn", "1024x1024x1024 f16 acc=f32 tt", "1x1x1 f16 acc=f32 nn"}) {
    const Problem problem = parse_problem(text).value();
    const Device device = avx512_device(2);
    const Space space(cpu_family(), problem, device);
    EXPECT_GT(space.count(), 10) << text;
    Rng rng(11);
    std::set<std::string> distinct;
    for (int i = 0; i < 200; ++i) {
      const auto program = space.sample(rng);
      ASSERT_TRUE(program.has_value());
      const auto refused = refusals(*program, problem, device);
      EXPECT_TRUE(refused.empty())
          << text << ": " << program->text() << ": " << refused.front().reason;
      distinct.insert(program->text());
    }
    EXPECT_GT(distinct.size(), 5U) << text;
  }
}

TEST(CpuSpace, RulesReadOnlyWhatTheyDeclare) {
  // A rule that reads an undeclared decision would make the memo wrong: change every decision a
  // rule does not declare and its answer must stay the same.
  const Problem problem = parse_problem("130x200x300 bf16 acc=f32 nt").value();
  const Device device = avx512_device(2);
  const Family& family = cpu_family();
  Rng rng(3);
  for (int trial = 0; trial < 3000; ++trial) {
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
      EXPECT_EQ(rule.refuse(choices, problem, device).has_value(),
                rule.refuse(reduced, problem, device).has_value())
          << rule.name;
    }
  }
}

TEST(CpuSpace, RefusesWhatTheDeviceLacks) {
  const Device device = avx2_device(1);
  const Space space(cpu_family(), decode(), device);
  Rng rng(5);
  for (int i = 0; i < 100; ++i) {
    const auto program = space.sample(rng);
    ASSERT_TRUE(program.has_value());
    EXPECT_TRUE(program->word("isa") == "avx2" || program->word("isa") == "scalar");
    EXPECT_EQ(program->word("threads"), "1");
    EXPECT_EQ(program->word("split"), "");
  }
}

TEST(Variation, NeighboursDifferInOneDecisionAndAreLegal) {
  const Problem problem = parse_problem("128x1536x1024 bf16 acc=f32 nn").value();
  const Device device = avx512_device(2);
  const Space space(cpu_family(), problem, device);
  Rng rng(9);
  for (int i = 0; i < 20; ++i) {
    const Program program = space.sample(rng).value();
    const auto all = neighbours(space, program);
    EXPECT_GT(all.size(), 5U);
    std::set<std::string> distinct;
    for (const Program& other : all) {
      EXPECT_TRUE(is_legal(other, problem, device)) << other.text();
      int changed = 0;
      for (std::size_t d = 0; d < cpu_family().decisions.size(); ++d) {
        const Choice before = program.choices().at(d), after = other.choices().at(d);
        changed += before >= 0 && after >= 0 && before != after;
      }
      EXPECT_EQ(changed, 1) << program.text() << "\n" << other.text();
      distinct.insert(other.text());
    }
    EXPECT_EQ(distinct.size(), all.size());
  }
}

TEST(Variation, ChildrenAreLegalAndDiffer) {
  const Problem problem = decode();
  const Device device = avx512_device(2);
  const Space space(cpu_family(), problem, device);
  Rng rng(13);
  int crossed = 0;
  for (int i = 0; i < 100; ++i) {
    const Program a = space.sample(rng).value();
    const Program b = space.sample(rng).value();
    const auto mutant = mutate(space, a, rng);
    ASSERT_TRUE(mutant.has_value());
    EXPECT_TRUE(is_legal(*mutant, problem, device)) << mutant->text();
    EXPECT_FALSE(*mutant == a);
    if (const auto child = crossover(space, a, b, rng)) {
      ++crossed;
      EXPECT_TRUE(is_legal(*child, problem, device)) << child->text();
      EXPECT_FALSE(*child == a || *child == b);
    }
  }
  EXPECT_GT(crossed, 80);
}

}  // namespace
}  // namespace tilewright
