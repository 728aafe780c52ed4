// SPDX-License-Identifier: Apache-2.0
// Which values of a decision a legal program may continue with: the part of the mask (mask.h) that
// knows one family, one problem and one device, and nothing of tokens.
//
// Whether a legal program begins with given decisions depends only on those that a rule or a
// condition further down still reads. Answers are kept by them, and so are answers of the rules,
// by what each of them reads: most of a rule's cost is finding words, and most of its questions
// come again.
#pragma once

#include "program/vocabulary.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace tilewright {

class FamilyWalk {
 public:
  FamilyWalk(const Family& family, const Problem& problem, const Device& device);

  [[nodiscard]] const Family& family() const { return *family_; }
  [[nodiscard]] bool any();
  // Moves `decision` on past decisions that do not exist, and marks them so.
  void skip_absent(Choices& choices, std::size_t& decision) const;
  // The values that decision `i` may take, ascending. Those before it are decided, and a legal
  // program begins with them. The reference stays valid.
  [[nodiscard]] const std::vector<Choice>& next(Choices& choices, std::size_t i);

 private:
  // Up to 30 choices of 6 bits: more than a family has.
  using Key = std::array<std::uint64_t, 3>;
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };
  struct Due {
    const Rule* rule;
    std::vector<std::size_t> reads;
    std::unordered_map<Key, bool, KeyHash> holds;
  };
  struct Condition {
    std::size_t decision;
    std::uint64_t values;  // bit v + 1: value v; bit 0: it does not exist
  };

  [[nodiscard]] static Key key_of(const std::vector<std::size_t>& reads, const Choices& choices);
  [[nodiscard]] bool is_there(std::size_t i, const Choices& choices) const;
  [[nodiscard]] bool holds(std::size_t i, const Choices& choices);
  // Whether a legal program begins with the decisions below i.
  [[nodiscard]] bool alive(std::size_t i, Choices& choices);

  const Family* family_;
  Problem problem_;
  Device device_;
  bool open_ = true;                   // rules that read no decision hold
  std::vector<std::vector<Due>> due_;  // rules whose last read decision is i
  std::vector<std::vector<Condition>> conditions_;
  std::vector<std::vector<std::size_t>> live_;  // decisions below i that matter from i on
  std::vector<std::unordered_map<Key, bool, KeyHash>> alive_;
  std::vector<std::unordered_map<Key, std::vector<Choice>, KeyHash>> next_;
};

}  // namespace tilewright
