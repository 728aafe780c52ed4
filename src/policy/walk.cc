// SPDX-License-Identifier: Apache-2.0
// See walk.h.
#include "policy/walk.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace tilewright {

Walk::Walk(const Family& family, const Problem& problem, const Device& device)
    : family_(family), problem_(problem), device_(device), due_(family.decisions.size()) {
  const Choices none(family);
  for (const Rule& rule : family.rules) {
    if (rule.reads.empty()) {
      open_ = open_ && !rule.refuse(none, problem, device).has_value();
      continue;
    }
    std::size_t last = 0;
    for (const std::string_view key : rule.reads) last = std::max(last, *family.find(key));
    due_[last].push_back(&rule);
  }
}

template <class Order>
std::optional<Program> Walk::walk(const Order& order) const {
  if (!open_) return std::nullopt;
  Choices choices(family_);
  std::vector<Choice> values;
  for (std::size_t i = 0; i < family_.decisions.size(); ++i) {
    values.assign(1, kAbsent);
    if (exists(family_.decisions[i], choices)) order(i, values);
    const bool found = std::ranges::any_of(values, [&](Choice value) {
      choices.set(i, value);
      return std::ranges::none_of(due_[i], [&](const Rule* rule) {
        return rule->refuse(choices, problem_, device_).has_value();
      });
    });
    if (!found) return std::nullopt;
  }
  return Program(std::move(choices));
}

std::optional<Program> Walk::nearest(const Wishes& wishes, const Wishes& fixed) const {
  const auto wished = [&](std::size_t i, const Wishes& from) -> Choice {
    const Decision& decision = family_.decisions[i];
    for (const auto& [key, value] : from) {
      if (key != decision.key) continue;
      const auto at = std::ranges::find(decision.values, value);
      if (at != decision.values.end()) return static_cast<Choice>(at - decision.values.begin());
    }
    return kOpen;
  };
  const auto stages = family_.find("stages");
  const Choice longest = stages ? std::max<Choice>(wished(*stages, wishes), 0) : Choice{0};
  for (Choice ring = longest; ring >= 0; --ring) {
    auto program = walk([&](std::size_t i, std::vector<Choice>& values) {
      if (const Choice only = wished(i, fixed); only >= 0) {
        values.assign(1, only);
        return;
      }
      Choice wish = std::max<Choice>(wished(i, wishes), 0);
      if (stages && i == *stages) wish = std::min(wish, ring);
      values.resize(family_.decisions[i].values.size());
      std::iota(values.begin(), values.end(), Choice{0});
      std::ranges::stable_sort(values, {}, [&](Choice v) { return std::abs(v - wish); });
    });
    if (program) return program;
  }
  return std::nullopt;
}

std::optional<Program> Walk::draw(Rng& rng) const {
  return walk([&](std::size_t i, std::vector<Choice>& values) {
    values.resize(family_.decisions[i].values.size());
    std::iota(values.begin(), values.end(), Choice{0});
    for (std::size_t j = values.size(); j > 1; --j) std::swap(values[j - 1], values[rng.below(j)]);
  });
}

bool Walk::allows(const Choices& choices) const {
  return open_ && std::ranges::all_of(due_, [&](const std::vector<const Rule*>& rules) {
           return std::ranges::none_of(rules, [&](const Rule* rule) {
             return rule->refuse(choices, problem_, device_).has_value();
           });
         });
}

}  // namespace tilewright
