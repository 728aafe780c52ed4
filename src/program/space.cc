// SPDX-License-Identifier: Apache-2.0
// Exact counting by variable elimination; everything else follows from it.
//
// completions(prefix) = sum over the values of the first open decision of completions(prefix +
// value). Rules are asked as soon as the last decision they read is decided. The result depends on
// the prefix only through its *live* decisions: those that a rule or a condition further down still
// reads. Memoising on them makes the recursion small although the space is large.
//
// Of a space that is a list, the programs are sorted by their decisions: those with a common prefix
// stand together, and counting them is two binary searches.
#include "program/space.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <ranges>
#include <set>
#include <unordered_map>

namespace tilewright {

struct Space::State {
  const Family* family;
  Problem problem;
  Device device;
  std::vector<std::vector<const Rule*>> due;   // rules whose last read decision is i
  std::vector<const Rule*> upfront;            // rules that read no decision
  std::vector<std::vector<std::size_t>> live;  // decisions below i that matter from i on
  std::mutex mutex;                            // guards memo
  std::vector<std::unordered_map<std::string, double>> memo;
  std::optional<std::vector<Choices>> listed;  // sorted; instead of counting by the rules

  [[nodiscard]] std::size_t depth() const { return family->decisions.size(); }

  [[nodiscard]] bool allows(const std::vector<const Rule*>& rules, const Choices& choices) const {
    if (listed) return true;  // they were asked when the list was made
    return std::ranges::none_of(rules, [&](const Rule* rule) {
      return rule->refuse(choices, problem, device).has_value();
    });
  }

  // The listed programs that agree with the first i decisions.
  [[nodiscard]] std::span<const Choices> range_of(std::size_t i, const Choices& choices) const {
    const auto range = std::ranges::equal_range(
        *listed, choices.raw().first(i),
        [](auto a, auto b) { return std::ranges::lexicographical_compare(a, b); },
        [i](const Choices& c) { return c.raw().first(i); });
    return {range.begin(), range.end()};
  }

  // Number of legal completions when decisions below i are decided and their rules hold.
  double count_from(std::size_t i, Choices& choices) {
    if (listed) return static_cast<double>(range_of(i, choices).size());
    if (i == depth()) return 1;
    std::string key;
    for (const std::size_t d : live[i]) {
      key.push_back(static_cast<char>(choices.at(d) & 0xff));
      key.push_back(static_cast<char>((choices.at(d) >> 8) & 0xff));
    }
    if (const auto hit = memo[i].find(key); hit != memo[i].end()) return hit->second;
    double total = 0;
    for_each_value(i, choices, [&](Choice) { total += count_from(i + 1, choices); });
    choices.set(i, kOpen);
    memo[i].emplace(std::move(key), total);
    return total;
  }

  // Calls visit(value) with decision i set to each value that its due rules allow.
  template <class Visit>
  void for_each_value(std::size_t i, Choices& choices, const Visit& visit) {
    const Decision& decision = family->decisions[i];
    if (!exists(decision, choices)) {
      choices.set(i, kAbsent);
      if (allows(due[i], choices)) visit(kAbsent);
      return;
    }
    for (std::size_t v = 0; v < decision.values.size(); ++v) {
      choices.set(i, static_cast<Choice>(v));
      if (allows(due[i], choices)) visit(static_cast<Choice>(v));
    }
  }

  // The first open decision after settling absent ones; depth() if none, nothing if a rule fails.
  std::optional<std::size_t> first_open(Choices& choices) const {
    for (std::size_t i = 0; i < depth(); ++i) {
      if (choices.at(i) == kOpen) {
        if (exists(family->decisions[i], choices)) return i;
        choices.set(i, kAbsent);
      }
      if (!allows(due[i], choices)) return std::nullopt;
    }
    return depth();
  }
};

Space::Space(const Family& family, Problem problem, Device device)
    : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.family = &family;
  s.problem = problem;
  s.device = std::move(device);
  const std::size_t n = family.decisions.size();
  s.due.resize(n);
  s.memo.resize(n);
  std::vector<std::set<std::size_t>> live(n + 1);
  // A value read at decision `last` is live at every depth in (reader's own index, last].
  const auto mark = [&](std::size_t read, std::size_t last) {
    for (std::size_t i = read + 1; i <= last; ++i) live[i].insert(read);
  };
  for (const Rule& rule : family.rules) {
    std::vector<std::size_t> reads;
    for (const std::string_view key : rule.reads) reads.push_back(family.find(key).value());
    if (reads.empty()) {
      s.upfront.push_back(&rule);
      continue;
    }
    const std::size_t last = *std::ranges::max_element(reads);
    s.due[last].push_back(&rule);
    for (const std::size_t read : reads) mark(read, last);
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (const Decision::When& when : family.decisions[i].when) {
      mark(family.find(when.key).value(), i);
    }
  }
  for (std::size_t i = 0; i < n; ++i) s.live.emplace_back(live[i].begin(), live[i].end());
}

Space::Space(const Family& family, Problem problem, Device device, std::span<const Program> only)
    : Space(family, std::move(problem), std::move(device)) {
  State& s = *state_;
  s.listed.emplace();
  for (const Program& program : only) {
    if (&program.family() == &family && is_legal(program, s.problem, s.device)) {
      s.listed->push_back(program.choices());
    }
  }
  std::ranges::sort(*s.listed, std::ranges::lexicographical_compare, &Choices::raw);
  const auto again = std::ranges::unique(*s.listed);
  s.listed->erase(again.begin(), again.end());
}

Space::~Space() = default;
Space::Space(Space&&) noexcept = default;
Space& Space::operator=(Space&&) noexcept = default;

const Family& Space::family() const {
  return *state_->family;
}

double Space::completions(const Choices& prefix) const {
  State& s = *state_;
  const std::scoped_lock lock(s.mutex);
  Choices choices = prefix;
  if (!s.allows(s.upfront, choices)) return 0;
  const auto open = s.first_open(choices);
  if (!open) return 0;
  return s.count_from(*open, choices);
}

double Space::count() const {
  return completions(Choices(*state_->family));
}

std::vector<Choice> Space::next(const Choices& prefix) const {
  State& s = *state_;
  const std::scoped_lock lock(s.mutex);
  Choices choices = prefix;
  std::vector<Choice> out;
  if (!s.allows(s.upfront, choices)) return out;
  const auto open = s.first_open(choices);
  if (!open || *open == s.depth()) return out;
  s.for_each_value(*open, choices, [&](Choice value) {
    if (s.count_from(*open + 1, choices) > 0) out.push_back(value);
  });
  return out;
}

std::optional<Program> Space::sample(Rng& rng) const {
  State& s = *state_;
  const double total = count();
  if (total <= 0) return std::nullopt;
  const std::scoped_lock lock(s.mutex);
  Choices choices(*s.family);
  for (std::size_t i = 0; i < s.depth(); ++i) {
    // Weigh each value by its completions; the sum is known to be positive.
    std::vector<std::pair<Choice, double>> weights;
    double sum = 0;
    s.for_each_value(i, choices, [&](Choice value) {
      const double weight = s.count_from(i + 1, choices);
      if (weight > 0) weights.emplace_back(value, sum += weight);
    });
    const double draw = rng.uniform() * sum;
    const auto it = std::ranges::find_if(weights, [&](const auto& w) { return draw < w.second; });
    choices.set(i, it == weights.end() ? weights.back().first : it->first);
  }
  return Program(std::move(choices));
}

std::optional<std::vector<Program>> Space::enumerate(std::size_t limit) const {
  State& s = *state_;
  if (count() > static_cast<double>(limit)) return std::nullopt;
  std::vector<Program> out;
  if (count() <= 0) return out;
  const std::scoped_lock lock(s.mutex);
  Choices choices(*s.family);
  const auto walk = [&](const auto& self, std::size_t i) -> void {
    if (i == s.depth()) {
      out.emplace_back(choices);
      return;
    }
    s.for_each_value(i, choices, [&](Choice) {
      if (s.count_from(i + 1, choices) > 0) self(self, i + 1);
    });
    choices.set(i, kOpen);
  };
  walk(walk, 0);
  return out;
}

}  // namespace tilewright
