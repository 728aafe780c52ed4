// SPDX-License-Identifier: Apache-2.0
// The mask: which token may follow what the model has written, so that every text it ends is a
// legal program of the problem on the device.
//
// A token is offered exactly if at least one legal program (of the list, where there is one)
// continues with it. program/space.h asks the same by counting, which is slow for the families of
// CUDA kernels (several rules read eight decisions); whether one program exists is a depth-first
// search that nearly always ends at its first leaf, and its answers are kept by the decisions that
// matter further down. So the masked distribution is well defined, for all families alike: the
// model's softmax over the offered tokens, renormalised, at every position. No walk ends without a
// program, nothing is backed out of, and a program's probability is the product over its positions.
//
// Read next: model.h.
#pragma once

#include "base/rng.h"
#include "learn/text.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace tilewright {

// Where a text stands. A value: copy it to try two continuations.
class MaskState {
 public:
  [[nodiscard]] bool done() const { return phase_ == Phase::done; }

 private:
  friend class TokenMask;
  enum class Phase { remark, direction, judgement, mark, family, decision, end, done };
  Phase phase_ = Phase::family;
  std::size_t remarks_ = 0;
  std::optional<Choices> choices_;    // once the family is known
  std::size_t decision_ = 0;          // the next one to decide
  std::size_t family_ = 0;            // index into families()
  std::size_t first_ = 0, last_ = 0;  // of a list: the programs that begin so
};

// For one problem on one device. It keeps what it finds out, so make one and use it for many
// texts; several threads may.
class TokenMask {
 public:
  TokenMask(const Problem& problem, const Device& device);
  // Only programs of the list that are legal: what a recorded table knows.
  TokenMask(const Problem& problem, const Device& device, std::span<const Program> only);
  ~TokenMask();
  TokenMask(TokenMask&&) noexcept;
  TokenMask& operator=(TokenMask&&) noexcept;

  // False if there is no legal program at all.
  [[nodiscard]] bool any() const;
  // After `opening(analysis)`.
  [[nodiscard]] MaskState begin(bool analysis = false) const;
  // The tokens that may follow, ascending; empty when done. Valid as long as the mask is.
  [[nodiscard]] std::span<const int> legal(const MaskState& state) const;
  // Writes a token. False, and nothing is changed, if it may not follow.
  [[nodiscard]] bool advance(MaskState& state, int token) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// What the model wrote after a prompt's opening, with the tokens that could have stood at each
// place: all that is needed to ask for its probability again, elsewhere and later.
struct Continuation {
  bool analysis = false;
  std::vector<int> tokens;
  std::vector<int> offered;         // the legal tokens of all places, one after another
  std::vector<std::size_t> starts;  // place i: [starts[i], starts[i + 1]) of `offered`
  [[nodiscard]] std::span<const int> legal(std::size_t place) const {
    return std::span(offered).subspan(starts[place], starts[place + 1] - starts[place]);
  }
  // One legal token: nothing was chosen there, its probability is 1.
  [[nodiscard]] bool forced(std::size_t place) const {
    return starts[place + 1] - starts[place] == 1;
  }
  friend bool operator==(const Continuation&, const Continuation&) = default;
};
// An error names the first token that may not stand there, or says that the text does not end.
[[nodiscard]] Result<Continuation> masked(const TokenMask& mask, bool analysis,
                                          std::span<const int> tokens);
// The program that it ends with.
[[nodiscard]] Result<Program> program_of(const Continuation& continuation);

// A text drawn by choosing uniformly at each place (not uniform over programs); nothing if there
// is no legal program.
[[nodiscard]] std::optional<Continuation> draw_text(const TokenMask& mask, bool analysis, Rng& rng);

}  // namespace tilewright
