// SPDX-License-Identifier: Apache-2.0
// The <ana> section: how two programs differ, in words. Three words a remark: the decision, the
// direction, the judgement.
#include "base/text.h"
#include "learn/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

namespace tilewright {
namespace {

constexpr std::string_view kFamily = "family";
constexpr std::array<std::string_view, 3> kDirections = {"up", "down", "other"};
constexpr std::array<std::string_view, 3> kJudgements = {"good", "bad", "even"};

Direction direction_of(const Decision& decision, Choice from, Choice to) {
  if (from < 0 || to < 0) return Direction::other;
  const auto is_number = [&](Choice value) {
    return parse_integer(decision.values[static_cast<std::size_t>(value)]).has_value();
  };
  if (!is_number(from) || !is_number(to)) return Direction::other;
  return to > from ? Direction::up : Direction::down;
}

std::optional<std::string_view> known_key(std::string_view key) {
  if (key == kFamily) return kFamily;
  for (const Family* family : families()) {
    if (const auto index = family->find(key)) return family->decisions[*index].key;
  }
  return std::nullopt;
}

template <class Enum>
std::optional<Enum> one_of(std::string_view word, std::span<const std::string_view> names) {
  const auto found = std::ranges::find(names, word);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}

}  // namespace

std::vector<Remark> remarks(const Program& from, const Program& to, double gain, double noise) {
  const Judgement judgement = gain > noise    ? Judgement::good
                              : gain < -noise ? Judgement::bad
                                              : Judgement::even;
  if (&from.family() != &to.family()) return {{kFamily, Direction::other, judgement}};
  std::vector<Remark> out;
  const std::vector<Decision>& decisions = from.family().decisions;
  for (std::size_t i = 0; i < decisions.size() && out.size() < kMostRemarks; ++i) {
    const Choice a = from.choices().at(i), b = to.choices().at(i);
    if (a != b) out.push_back({decisions[i].key, direction_of(decisions[i], a, b), judgement});
  }
  return out;
}

std::vector<int> encode(std::span<const Remark> remarks) {
  std::vector<int> tokens;
  const auto add = [&](std::string_view word) {
    const auto token = find_word(word);
    assert(token && "a remark names a decision of a family");
    tokens.push_back(*token);
  };
  for (const Remark& remark : remarks.first(std::min(remarks.size(), kMostRemarks))) {
    add(fmt::format("d:{}", remark.key));
    add(kDirections[static_cast<std::size_t>(remark.direction)]);
    add(kJudgements[static_cast<std::size_t>(remark.judgement)]);
  }
  tokens.push_back(marks().analysis_end);
  return tokens;
}

Result<std::vector<Remark>> decode_remarks(std::span<const int> tokens) {
  const auto all = text_words();
  const auto word = [&](std::size_t i) -> std::string_view {
    const auto token = static_cast<std::size_t>(tokens[i]);
    return token < all.size() ? std::string_view(all[token]) : std::string_view("<none>");
  };
  const auto wrong = [&](std::size_t i) {
    return fail(ErrorCode::usage, fmt::format("remarks: '{}' may not stand at place {}",
                                              i < tokens.size() ? word(i) : "the end", i + 1));
  };
  std::vector<Remark> out;
  std::size_t i = 0;
  for (; i < tokens.size() && tokens[i] != marks().analysis_end; i += 3) {
    const auto key = word(i).starts_with("d:") ? known_key(word(i).substr(2)) : std::nullopt;
    if (!key || out.size() == kMostRemarks) return wrong(i);
    if (i + 2 >= tokens.size()) return wrong(tokens.size());
    const auto direction = one_of<Direction>(word(i + 1), kDirections);
    if (!direction) return wrong(i + 1);
    const auto judgement = one_of<Judgement>(word(i + 2), kJudgements);
    if (!judgement) return wrong(i + 2);
    out.push_back({*key, *direction, *judgement});
  }
  if (i + 1 != tokens.size()) return wrong(i < tokens.size() ? i + 1 : i);
  return out;
}

}  // namespace tilewright
