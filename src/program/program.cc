// SPDX-License-Identifier: Apache-2.0
// Printing, parsing and judging programs.
#include "program/program.h"

#include "base/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace tilewright {
namespace {

// What the user typed, where.
struct Word {
  std::string_view key, value;
  std::size_t column = 1;
  bool used = false;
};

tl::unexpected<Error> parse_error(std::size_t column, std::string what, std::string hint = {}) {
  return fail(ErrorCode::usage, fmt::format("program, column {}: {}", column, std::move(what)),
              std::move(hint));
}

// The reason why `decision` does not exist, in the words of the condition that failed.
std::string missing_condition(const Decision& decision, const Choices& choices) {
  for (const Decision::When& when : decision.when) {
    if (std::ranges::find(when.any_of, choices.word(when.key)) == when.any_of.end()) {
      const bool or_none = std::ranges::find(when.any_of, "") != when.any_of.end();
      std::vector<std::string_view> values = when.any_of;
      std::erase(values, "");
      return fmt::format("it needs {}={}{}", when.key, fmt::join(values, "|"),
                         or_none ? " or none" : "");
    }
  }
  return {};
}

Result<std::vector<Word>> split_words(std::string_view text) {
  std::vector<Word> found;
  for (const std::string_view token : words(text)) {
    const auto column = static_cast<std::size_t>(token.data() - text.data()) + 1;
    const std::size_t equals = token.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      return parse_error(column, fmt::format("'{}' is not of the form key=value", token));
    }
    found.push_back({token.substr(0, equals), token.substr(equals + 1), column});
  }
  return found;
}

}  // namespace

bool exists(const Decision& decision, const Choices& choices) {
  return std::ranges::all_of(decision.when, [&](const Decision::When& when) {
    return std::ranges::find(when.any_of, choices.word(when.key)) != when.any_of.end();
  });
}

std::vector<std::string> Program::tokens() const {
  std::vector<std::string> out{std::string(family().name)};
  for (std::size_t i = 0; i < family().decisions.size(); ++i) {
    const Choice value = choices_.at(i);
    if (value < 0) continue;
    const Decision& decision = family().decisions[i];
    out.push_back(
        fmt::format("{}={}", decision.key, decision.values[static_cast<std::size_t>(value)]));
  }
  return out;
}

std::string Program::text() const {
  return fmt::format("{}", fmt::join(tokens(), " "));
}

Result<Program> parse_program(std::string_view text) {
  const std::vector<std::string_view> all = words(text);
  std::vector<std::string_view> names;
  for (const Family* family : families()) names.push_back(family->name);
  if (all.empty()) {
    return parse_error(1, "empty",
                       fmt::format("a program begins with one of: {}", fmt::join(names, ", ")));
  }
  const std::string_view head = all.front();
  const auto head_column = static_cast<std::size_t>(head.data() - text.data()) + 1;
  const Family* family = find_family(head);
  if (family == nullptr) {
    return parse_error(head_column, fmt::format("unknown family '{}'", head),
                       fmt::format("families: {}", fmt::join(names, ", ")));
  }
  // Keep offsets relative to the whole text: blank out the family's name.
  std::string rest(text);
  std::fill_n(rest.begin() + static_cast<std::ptrdiff_t>(head_column - 1), head.size(), ' ');
  Result<std::vector<Word>> split = split_words(rest);
  if (!split) return tl::unexpected(split.error());

  Choices choices(*family);
  for (std::size_t i = 0; i < family->decisions.size(); ++i) {
    const Decision& decision = family->decisions[i];
    auto word = std::ranges::find(*split, decision.key, &Word::key);
    if (!exists(decision, choices)) {
      if (word != split->end()) {
        return parse_error(word->column, fmt::format("'{}' does not exist here: {}", decision.key,
                                                     missing_condition(decision, choices)));
      }
      choices.set(i, kAbsent);
      continue;
    }
    if (word == split->end()) {
      return parse_error(text.size() + 1, fmt::format("decision '{}' is missing", decision.key),
                         fmt::format("{}={}", decision.key, fmt::join(decision.values, "|")));
    }
    const auto value = std::ranges::find(decision.values, word->value);
    if (value == decision.values.end()) {
      return parse_error(
          word->column,
          fmt::format("{}={} is not a value of '{}'", decision.key, word->value, decision.key),
          fmt::format("{}={}", decision.key, fmt::join(decision.values, "|")));
    }
    choices.set(i, static_cast<Choice>(value - decision.values.begin()));
    word->used = true;
  }
  for (const Word& word : *split) {
    if (word.used) continue;
    if (family->find(word.key)) {
      return parse_error(word.column, fmt::format("'{}' is given twice", word.key));
    }
    std::vector<std::string_view> keys;
    for (const Decision& decision : family->decisions) keys.push_back(decision.key);
    const std::string near = nearest_word(word.key, keys);
    return parse_error(word.column,
                       fmt::format("family '{}' has no decision '{}'", family->name, word.key),
                       near.empty() ? std::string() : fmt::format("did you mean '{}'?", near));
  }
  return Program(std::move(choices));
}

std::vector<Refusal> refusals(const Program& program, const Problem& problem,
                              const Device& device) {
  std::vector<Refusal> out;
  for (const Rule& rule : program.family().rules) {
    if (auto reason = rule.refuse(program.choices(), problem, device)) {
      out.push_back({std::string(rule.name), *std::move(reason)});
    }
  }
  return out;
}

}  // namespace tilewright
