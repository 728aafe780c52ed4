// SPDX-License-Identifier: Apache-2.0
// See family_walk.h.
#include "learn/family_walk.h"

#include <algorithm>
#include <cassert>
#include <set>

namespace tilewright {
namespace {

constexpr std::size_t kBits = 6, kPerWord = 10;
[[maybe_unused]] constexpr std::size_t kMostLive = 3 * kPerWord;
[[maybe_unused]] constexpr std::size_t kMostValues = (std::size_t{1} << kBits) - 2;

}  // namespace

std::size_t FamilyWalk::KeyHash::operator()(const Key& key) const {
  // Odd constants of splitmix64 (Steele, Lea, Flood, OOPSLA 2014).
  std::uint64_t mixed = 0x9e3779b97f4a7c15ULL;
  for (const std::uint64_t word : key) {
    mixed = (mixed ^ word) * 0xbf58476d1ce4e5b9ULL;
    mixed ^= mixed >> 29;
  }
  return static_cast<std::size_t>(mixed * 0x94d049bb133111ebULL);
}

FamilyWalk::FamilyWalk(const Family& family, const Problem& problem, const Device& device)
    : family_(&family), problem_(problem), device_(device) {
  const std::size_t n = family.decisions.size();
  due_.resize(n);
  conditions_.resize(n);
  alive_.resize(n);
  next_.resize(n);
  std::vector<std::set<std::size_t>> live(n + 1);
  // A value that is read at decision `last` matters at every depth from its own to there.
  const auto mark = [&](std::size_t read, std::size_t last) {
    for (std::size_t i = read + 1; i <= last; ++i) live[i].insert(read);
  };
  const Choices none(family);
  for (const Rule& rule : family.rules) {
    if (rule.reads.empty()) {
      open_ = open_ && !rule.refuse(none, problem, device).has_value();
      continue;
    }
    Due due{.rule = &rule, .reads = {}, .holds = {}};
    for (const std::string_view key : rule.reads) due.reads.push_back(family.find(key).value());
    const std::size_t last = *std::ranges::max_element(due.reads);
    for (const std::size_t read : due.reads) mark(read, last);
    assert(due.reads.size() <= kMostLive);
    due_[last].push_back(std::move(due));
  }
  for (std::size_t i = 0; i < n; ++i) {
    assert(family.decisions[i].values.size() <= kMostValues);
    for (const Decision::When& when : family.decisions[i].when) {
      const std::size_t read = family.find(when.key).value();
      mark(read, i);
      Condition condition{.decision = read, .values = 0};
      const auto& values = family.decisions[read].values;
      for (const std::string_view word : when.any_of) {
        if (word.empty()) condition.values |= 1;
        const auto at = std::ranges::find(values, word);
        if (at != values.end()) {
          condition.values |= std::uint64_t{2} << static_cast<std::size_t>(at - values.begin());
        }
      }
      conditions_[i].push_back(condition);
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    assert(live[i].size() <= kMostLive);
    live_.emplace_back(live[i].begin(), live[i].end());
  }
}

FamilyWalk::Key FamilyWalk::key_of(const std::vector<std::size_t>& reads, const Choices& choices) {
  Key key{};
  for (std::size_t i = 0; i < reads.size(); ++i) {
    const auto code = static_cast<std::uint64_t>(choices.at(reads[i]) + 2);
    key[i / kPerWord] |= code << (i % kPerWord * kBits);
  }
  return key;
}

bool FamilyWalk::is_there(std::size_t i, const Choices& choices) const {
  return std::ranges::all_of(conditions_[i], [&](const Condition& condition) {
    const auto bit =
        static_cast<std::size_t>(std::max<Choice>(choices.at(condition.decision), -1) + 1);
    return (condition.values >> bit & 1) != 0;
  });
}

bool FamilyWalk::holds(std::size_t i, const Choices& choices) {
  return std::ranges::all_of(due_[i], [&](Due& due) {
    const Key key = key_of(due.reads, choices);
    if (const auto known = due.holds.find(key); known != due.holds.end()) return known->second;
    const bool holds = !due.rule->refuse(choices, problem_, device_).has_value();
    due.holds.emplace(key, holds);
    return holds;
  });
}

bool FamilyWalk::alive(std::size_t i, Choices& choices) {
  if (i == family_->decisions.size()) return true;
  const Key key = key_of(live_[i], choices);
  if (const auto known = alive_[i].find(key); known != alive_[i].end()) return known->second;
  bool found = false;
  if (!is_there(i, choices)) {
    choices.set(i, kAbsent);
    found = holds(i, choices) && alive(i + 1, choices);
  } else {
    const auto count = static_cast<Choice>(family_->decisions[i].values.size());
    for (Choice value = 0; value < count && !found; ++value) {
      choices.set(i, value);
      found = holds(i, choices) && alive(i + 1, choices);
    }
  }
  choices.set(i, kOpen);
  alive_[i].emplace(key, found);
  return found;
}

bool FamilyWalk::any() {
  Choices choices(*family_);
  return open_ && alive(0, choices);
}

void FamilyWalk::skip_absent(Choices& choices, std::size_t& decision) const {
  while (decision < family_->decisions.size() && !is_there(decision, choices)) {
    choices.set(decision++, kAbsent);
  }
}

const std::vector<Choice>& FamilyWalk::next(Choices& choices, std::size_t i) {
  const Key key = key_of(live_[i], choices);
  if (const auto known = next_[i].find(key); known != next_[i].end()) return known->second;
  std::vector<Choice> values;
  const auto count = static_cast<Choice>(family_->decisions[i].values.size());
  for (Choice value = 0; value < count; ++value) {
    choices.set(i, value);
    if (holds(i, choices) && alive(i + 1, choices)) values.push_back(value);
  }
  choices.set(i, kOpen);
  return next_[i].emplace(key, std::move(values)).first->second;
}

}  // namespace tilewright
