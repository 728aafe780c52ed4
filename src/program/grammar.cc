// SPDX-License-Identifier: Apache-2.0
// The mask, from exact completion counts (space.h).
#include "program/grammar.h"

#include <algorithm>

namespace tilewright {
namespace {

int token_id(std::string_view token) {
  const auto all = vocabulary();
  const auto it = std::ranges::find(all, token);
  return it == all.end() ? -1 : static_cast<int>(it - all.begin());
}

std::string token_of(const Decision& decision, Choice value) {
  return std::string(decision.key) + "=" +
         std::string(decision.values[static_cast<std::size_t>(value)]);
}

}  // namespace

Grammar::Grammar(const Problem& problem, const Device& device) {
  for (const Family* family : families()) spaces_.emplace_back(*family, problem, device);
}

Grammar::Grammar(const Problem& problem, const Device& device, std::span<const Program> only) {
  for (const Family* family : families()) spaces_.emplace_back(*family, problem, device, only);
}

std::vector<int> Grammar::next(const std::vector<std::string>& prefix) const {
  std::vector<int> ids;
  if (prefix.empty()) {
    for (const Space& space : spaces_) {
      if (space.count() > 0) ids.push_back(token_id(space.family().name));
    }
    return ids;
  }
  const auto space = std::ranges::find(spaces_, prefix.front(),
                                       [](const Space& s) { return std::string(s.family().name); });
  if (space == spaces_.end()) return ids;

  const Family& family = space->family();
  Choices choices(family);
  std::size_t written = 1;
  for (std::size_t i = 0; i < family.decisions.size(); ++i) {
    const Decision& decision = family.decisions[i];
    if (!exists(decision, choices)) {
      choices.set(i, kAbsent);
      continue;
    }
    const std::vector<Choice> allowed = space->next(choices);
    if (written == prefix.size()) {
      for (const Choice value : allowed) ids.push_back(token_id(token_of(decision, value)));
      return ids;
    }
    const auto chosen = std::ranges::find_if(
        allowed, [&](Choice value) { return token_of(decision, value) == prefix[written]; });
    if (chosen == allowed.end()) return ids;
    choices.set(i, *chosen);
    ++written;
  }
  if (written == prefix.size()) ids.push_back(token_id(kEndToken));
  return ids;
}

std::vector<int> next_legal_tokens(const std::vector<std::string>& prefix, const Problem& problem,
                                   const Device& device) {
  return Grammar(problem, device).next(prefix);
}

}  // namespace tilewright
