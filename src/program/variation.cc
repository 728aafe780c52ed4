// SPDX-License-Identifier: Apache-2.0
// Local moves in a space: walk the decisions in order, wish for a value at each, and take the
// nearest value from which a legal program can still be reached.
#include "program/space.h"

#include <algorithm>
#include <cstdlib>
#include <set>

namespace tilewright {
namespace {

Choice nearest(const std::vector<Choice>& allowed, Choice wish) {
  return *std::ranges::min_element(allowed, {}, [&](Choice v) { return std::abs(v - wish); });
}

// Builds a program; wish(i, allowed) returns the value wanted for decision i, or kOpen for any.
template <class Wish>
std::optional<Program> build(const Space& space, const Wish& wish) {
  const Family& family = space.family();
  Choices choices(family);
  for (std::size_t i = 0; i < family.decisions.size(); ++i) {
    if (!exists(family.decisions[i], choices)) {
      choices.set(i, kAbsent);
      continue;
    }
    const std::vector<Choice> allowed = space.next(choices);
    if (allowed.empty()) return std::nullopt;
    const Choice wanted = wish(i, allowed);
    choices.set(i, wanted < 0 ? allowed[allowed.size() / 2] : nearest(allowed, wanted));
  }
  return Program(std::move(choices));
}

std::vector<std::size_t> decided(const Program& program) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < program.family().decisions.size(); ++i) {
    if (program.choices().at(i) >= 0) out.push_back(i);
  }
  return out;
}

}  // namespace

std::optional<Program> nearest_legal(
    const Space& space, const std::vector<std::pair<std::string_view, std::string_view>>& wishes) {
  return build(space, [&](std::size_t i, const std::vector<Choice>&) {
    const Decision& decision = space.family().decisions[i];
    for (const auto& [key, value] : wishes) {
      if (key != decision.key) continue;
      const auto at = std::ranges::find(decision.values, value);
      if (at != decision.values.end()) return static_cast<Choice>(at - decision.values.begin());
    }
    return kOpen;
  });
}

std::vector<Program> neighbours(const Space& space, const Program& program) {
  std::vector<Program> out;
  for (const std::size_t moved : decided(program)) {
    const Decision& decision = space.family().decisions[moved];
    for (std::size_t v = 0; v < decision.values.size(); ++v) {
      const auto value = static_cast<Choice>(v);
      if (value == program.choices().at(moved)) continue;
      bool strayed = false;  // another decision had to change as well
      auto other = build(space, [&](std::size_t i, const std::vector<Choice>& allowed) {
        const Choice wanted = i == moved ? value : program.choices().at(i);
        if (wanted >= 0 && std::ranges::find(allowed, wanted) == allowed.end()) strayed = true;
        return wanted;
      });
      if (other && !strayed) out.push_back(*std::move(other));
    }
  }
  return out;
}

std::optional<Program> mutate(const Space& space, const Program& program, Rng& rng) {
  const std::vector<std::size_t> positions = decided(program);
  // A few tries: a drawn decision may have one legal value only.
  for (int attempt = 0; attempt < 16; ++attempt) {
    std::set<std::size_t> moved;
    const std::size_t moves = 1 + rng.below(3);
    for (std::size_t j = 0; j < moves; ++j) moved.insert(positions[rng.below(positions.size())]);
    auto other = build(space, [&](std::size_t i, const std::vector<Choice>& allowed) {
      return moved.contains(i) ? allowed[rng.below(allowed.size())] : program.choices().at(i);
    });
    if (other && !(*other == program)) return other;
  }
  return std::nullopt;
}

std::optional<Program> crossover(const Space& space, const Program& a, const Program& b, Rng& rng) {
  for (int attempt = 0; attempt < 16; ++attempt) {
    auto child = build(space, [&](std::size_t i, const std::vector<Choice>&) {
      const Choice first = a.choices().at(i);
      const Choice second = b.choices().at(i);
      if (first < 0 || second < 0) return std::max(first, second);
      return rng.below(2) == 0 ? first : second;
    });
    if (child && !(*child == a) && !(*child == b)) return child;
  }
  return std::nullopt;
}

}  // namespace tilewright
