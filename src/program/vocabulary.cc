// SPDX-License-Identifier: Apache-2.0
// Look-ups in the tables of vocabulary.h, and the registry of families.
#include "program/vocabulary.h"

#include "base/text.h"
#include "program/family_cpu.h"
#include "program/family_cuda.h"

#include <algorithm>
#include <array>
#include <cassert>

namespace tilewright {

std::optional<std::size_t> Family::find(std::string_view key) const {
  const auto it = std::ranges::find(decisions, key, &Decision::key);
  if (it == decisions.end()) return std::nullopt;
  return static_cast<std::size_t>(it - decisions.begin());
}

std::string_view Choices::word(std::string_view key) const {
  const auto index = family_->find(key);
  assert(index && "a rule names a decision that its family does not have");
  const Choice value = values_[*index];
  if (value < 0) return {};
  return family_->decisions[*index].values[static_cast<std::size_t>(value)];
}

std::int64_t Choices::number(std::string_view key) const {
  return parse_integer(word(key)).value_or(0);
}

std::span<const Family* const> families() {
  static const std::array<const Family*, 3> all = {&cpu_family(), &sm80_family(), &sm90_family()};
  return all;
}

const Family* find_family(std::string_view name) {
  for (const Family* family : families()) {
    if (family->name == name) return family;
  }
  return nullptr;
}

std::span<const std::string> vocabulary() {
  static const std::vector<std::string> tokens = [] {
    std::vector<std::string> all;
    for (const Family* family : families()) all.emplace_back(family->name);
    for (const Family* family : families()) {
      for (const Decision& decision : family->decisions) {
        for (const std::string_view value : decision.values) {
          std::string token = std::string(decision.key) + "=" + std::string(value);
          if (std::ranges::find(all, token) == all.end()) all.push_back(std::move(token));
        }
      }
    }
    all.emplace_back(kEndToken);
    return all;
  }();
  return tokens;
}

}  // namespace tilewright
