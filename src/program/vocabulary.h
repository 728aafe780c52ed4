// SPDX-License-Identifier: Apache-2.0
// The closed vocabulary of programs: families, their decisions, and the rules of legality.
//
// A family (`cpu`, later `sm80`, `sm90`) is a table of decisions in a fixed order and a table of
// rules. Earlier decisions may decide which later ones exist. Everything else about programs -
// parsing, counting, sampling, masks for a language model, mutation - is derived from these tables
// (space.h), so a new family is one more file.
//
// Read next: program.h, then family_cpu.cc for a whole family.
#pragma once

#include "device/device.h"
#include "problem/problem.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

// Version of the program language: any change of meaning of an existing text raises it.
inline constexpr int kProgramLanguageVersion = 2;

// Index of a decision's value in Decision::values, or kAbsent where the decision does not exist.
using Choice = std::int16_t;
inline constexpr Choice kAbsent = -1;
inline constexpr Choice kOpen = -2;  // not decided yet (only in prefixes)

class Choices;  // the values chosen so far, by decision key; below

struct Decision {
  std::string_view key;
  std::vector<std::string_view> values;  // words; numbers are written in decimal
  // The decision exists only if every listed earlier decision has one of the listed values; ""
  // stands for a decision that does not exist itself.
  struct When {
    std::string_view key;
    std::vector<std::string_view> any_of;
  };
  std::vector<When> when;
  std::string_view help;  // one sentence for `tilewright explain`
};

// A rule looks only at the decisions it names in `reads` (and the problem and device), and gives
// the reason if it refuses. It is asked as soon as the last of them is decided; absent decisions
// read as empty.
struct Rule {
  std::string_view name;
  std::vector<std::string_view> reads;
  std::function<std::optional<std::string>(const Choices&, const Problem&, const Device&)> refuse;
};

struct Family {
  std::string_view name;
  std::vector<Decision> decisions;
  std::vector<Rule> rules;
  std::vector<Op> ops = {Op::gemm};  // what its programs compute
  [[nodiscard]] std::optional<std::size_t> find(std::string_view key) const;
  [[nodiscard]] bool computes(Op op) const;
};

class Choices {
 public:
  explicit Choices(const Family& family)
      : family_(&family), values_(family.decisions.size(), kOpen) {}
  [[nodiscard]] const Family& family() const { return *family_; }
  [[nodiscard]] std::span<const Choice> raw() const { return values_; }
  [[nodiscard]] Choice at(std::size_t decision) const { return values_[decision]; }
  void set(std::size_t decision, Choice value) { values_[decision] = value; }
  // The chosen word, or empty if absent or open. The key must be one of the family's.
  [[nodiscard]] std::string_view word(std::string_view key) const;
  // The chosen word as a number; 0 if absent or open.
  [[nodiscard]] std::int64_t number(std::string_view key) const;
  [[nodiscard]] bool is(std::string_view key, std::string_view value) const {
    return word(key) == value;
  }
  friend bool operator==(const Choices& a, const Choices& b) {
    return a.family_ == b.family_ && a.values_ == b.values_;
  }

 private:
  const Family* family_;
  std::vector<Choice> values_;
};

// Whether a decision exists after the earlier ones in `choices`.
[[nodiscard]] bool exists(const Decision& decision, const Choices& choices);

// The rule that every family begins with: that the problem is of one of `ops`.
[[nodiscard]] Rule operation_rule(std::vector<Op> ops);

// All families, in a fixed order, those of gemm first. They live as long as the process.
[[nodiscard]] std::span<const Family* const> families();
[[nodiscard]] const Family* find_family(std::string_view name);

// Every token of the language, in a fixed order: names of the families of gemm, then each
// `key=value` of theirs, then the end token, then the same of the other families. Token ids are
// positions in this list; it grows at the end only.
[[nodiscard]] std::span<const std::string> vocabulary();
inline constexpr std::string_view kEndToken = "<end>";

}  // namespace tilewright
