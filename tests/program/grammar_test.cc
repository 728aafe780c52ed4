// SPDX-License-Identifier: Apache-2.0
// The mask: everything it offers leads to a legal program, and every legal program is reachable.
#include "program/grammar.h"

#include "program/devices.h"
#include "program/family_cpu.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace tilewright {
namespace {

TEST(Grammar, RandomWalksEndInLegalPrograms) {
  const Problem problem = parse_problem("32x1024x3584 bf16 acc=f32 nn").value();
  const Device device = avx512_device(2);
  const Grammar grammar(problem, device);
  Rng rng(17);
  for (int i = 0; i < 100; ++i) {
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
  }
}

TEST(Grammar, EveryLegalProgramIsOffered) {
  const Problem problem = parse_problem("128x1536x1024 f16 acc=f32 nt").value();
  const Device device = avx512_device(2);
  const Grammar grammar(problem, device);
  const Space space(cpu_family(), problem, device);
  Rng rng(19);
  for (int i = 0; i < 50; ++i) {
    std::vector<std::string> prefix;
    std::vector<std::string> tokens = space.sample(rng)->tokens();
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

TEST(Grammar, AnIllegalOrUnknownPrefixOffersNothing) {
  const Problem problem = parse_problem("8x64x64 f16 acc=f32 nn").value();
  const Device device = avx512_device(2);
  EXPECT_TRUE(next_legal_tokens({"sm90"}, problem, device).empty());
  EXPECT_TRUE(next_legal_tokens({"cpu", "isa=avx512bf16"}, problem, device).empty());
  EXPECT_TRUE(next_legal_tokens({"cpu", "form=dot"}, problem, device).empty());
  EXPECT_FALSE(next_legal_tokens({"cpu", "isa=avx512"}, problem, device).empty());
}

// The mask of a replayed table: what can be written is the table, no more and no less.
TEST(Grammar, AListIsAPrefixTrie) {
  const Problem problem = parse_problem("128x1536x1024 f16 acc=f32 nt").value();
  const Device device = avx512_device(2);
  const Space all(cpu_family(), problem, device);
  Rng rng(23);
  std::vector<Program> listed;
  std::set<std::string> left;
  for (int i = 0; i < 40; ++i) {
    listed.push_back(*all.sample(rng));
    left.insert(listed.back().text());
  }
  // Illegal here, and a duplicate.
  const Space other(cpu_family(), parse_problem("1x64x64 bf16 acc=f32 nn").value(), device);
  while (is_legal(listed.back(), problem, device)) {
    left.insert(listed.back().text());
    listed.push_back(*other.sample(rng));
  }
  listed.push_back(listed.front());

  const Grammar grammar(problem, device, listed);
  const auto walk = [&](const auto& self, std::vector<std::string>& prefix) -> void {
    for (const int id : grammar.next(prefix)) {
      const std::string& token = vocabulary()[static_cast<std::size_t>(id)];
      if (token == kEndToken) {
        std::string text;
        for (const std::string& word : prefix) text += word + " ";
        EXPECT_EQ(left.erase(parse_program(text).value().text()), 1U) << text;
        continue;
      }
      prefix.push_back(token);
      self(self, prefix);
      prefix.pop_back();
    }
  };
  std::vector<std::string> prefix;
  walk(walk, prefix);
  EXPECT_TRUE(left.empty());

  const Space trie(cpu_family(), problem, device, listed);
  EXPECT_EQ(trie.count(), static_cast<double>(trie.enumerate(1000)->size()));
  for (int i = 0; i < 20; ++i) {
    const Program program = *trie.sample(rng);
    EXPECT_NE(std::ranges::find(listed, program), listed.end());
    if (auto near = mutate(trie, program, rng)) {
      EXPECT_NE(std::ranges::find(listed, *near), listed.end());
    }
  }
}

}  // namespace
}  // namespace tilewright
