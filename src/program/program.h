// SPDX-License-Identifier: Apache-2.0
// A Program: how a problem is computed, as one line of decisions.
//
//   cpu isa=avx512 form=blocked mr=14 nr=32 kc=256 ... threads=2 sizes=runtime
//
// The line is log line, database key and token stream alike: parse_program(p.text()) == p.
#pragma once

#include "base/error.h"
#include "program/vocabulary.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

class Program {
 public:
  // Every decision of `choices` must be decided or absent.
  explicit Program(Choices choices) : choices_(std::move(choices)) {}
  [[nodiscard]] const Family& family() const { return choices_.family(); }
  [[nodiscard]] const Choices& choices() const { return choices_; }
  [[nodiscard]] std::string_view word(std::string_view key) const { return choices_.word(key); }
  // The same for a decision that not every family has: empty where this one lacks it.
  [[nodiscard]] std::string_view find_word(std::string_view key) const {
    return family().find(key) ? word(key) : std::string_view();
  }
  [[nodiscard]] std::int64_t number(std::string_view key) const { return choices_.number(key); }
  [[nodiscard]] std::string text() const;
  // The text as tokens: family, `key=value` ..., without the end token.
  [[nodiscard]] std::vector<std::string> tokens() const;
  friend bool operator==(const Program&, const Program&) = default;

 private:
  Choices choices_;
};

// Words may come in any order and are completed by nothing: each existing decision must be there
// once. An error points at the column, names the key and lists the values it takes.
[[nodiscard]] Result<Program> parse_program(std::string_view text);

// Why a program may not be used for this problem on this device: the rule and its reason.
struct Refusal {
  std::string rule;
  std::string reason;
};
[[nodiscard]] std::vector<Refusal> refusals(const Program& program, const Problem& problem,
                                            const Device& device);
[[nodiscard]] inline bool is_legal(const Program& program, const Problem& problem,
                                   const Device& device) {
  return refusals(program, problem, device).empty();
}

}  // namespace tilewright
