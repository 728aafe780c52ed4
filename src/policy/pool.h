// SPDX-License-Identifier: Apache-2.0
// What a search draws from: the legal programs of a problem or, in replay, those of the table; and
// which of them it has had. Moves (mutation, neighbours, crossover) end inside the pool: in replay
// at the program nearest to where they would have gone that was not taken yet.
#pragma once

#include "policy/proposers.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

class Pool {
 public:
  explicit Pool(const PolicyContext& context);

  [[nodiscard]] const std::vector<Space>& spaces() const { return only_ ? only_->spaces() : own_; }
  [[nodiscard]] const ProgramSet* only() const { return only_.get(); }
  [[nodiscard]] const Space& space_of(const Program& program) const;
  [[nodiscard]] bool allows(const Program& program) const;

  // True if the program is of the pool and was not taken before; it is then.
  bool take(const Program& program);
  void take_text(const std::string& text);
  [[nodiscard]] bool taken(const Program& program) const { return seen_.contains(program); }
  [[nodiscard]] const Seen& seen() const { return seen_; }

  // Uniform; may have been taken.
  [[nodiscard]] std::optional<Program> sample(Rng& rng) const;
  // Uniform over what was not taken, and takes it; nothing if that is all gone (of a large space:
  // if many draws in a row were known).
  [[nodiscard]] std::optional<Program> take_any(Rng& rng);

  // Moves never end at where they begin. In replay also not at what was taken.
  [[nodiscard]] std::optional<Program> mutate(const Program& from, Rng& rng) const;
  [[nodiscard]] std::optional<Program> neighbour(const Program& from, Rng& rng) const;
  [[nodiscard]] std::optional<Program> cross(const Program& a, const Program& b, Rng& rng) const;
  // A program of elsewhere: itself, or what of the pool is nearest to it. Nothing if its family has
  // no legal program here.
  [[nodiscard]] std::optional<Program> adopt(const Program& program, Rng& rng) const;

 private:
  [[nodiscard]] std::optional<Program> nearest(const Choices& wish,
                                               std::span<const std::uint8_t> moved, Rng& rng) const;
  const PolicyContext& context_;
  std::shared_ptr<const ProgramSet> only_;
  std::vector<Space> own_;
  Seen seen_;
  std::vector<std::uint8_t> gone_;  // the same by position in only_
};

// What `next` (an optional Program a call) gives, `count` at most, until it has nothing more.
template <class Next>
[[nodiscard]] std::vector<Program> up_to(std::size_t count, const Next& next) {
  std::vector<Program> out;
  while (out.size() < count) {
    std::optional<Program> program = next();
    if (!program) break;
    out.push_back(*std::move(program));
  }
  return out;
}

}  // namespace tilewright
