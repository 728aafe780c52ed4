// SPDX-License-Identifier: Apache-2.0
// The set of legal programs of one family for one problem on one device: counted exactly, sampled
// uniformly, and walked token by token.
//
// Counting is variable elimination: the number of completions of a prefix depends only on the
// decided values that some undecided rule or condition still reads, so it is memoised on those.
// From exact counts follow an exactly uniform sample and an exact grammar mask: a token is offered
// only if at least one legal program continues with it.
#pragma once

#include "base/rng.h"
#include "program/program.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tilewright {

class Space {
 public:
  Space(const Family& family, Problem problem, Device device);
  // Those legal programs of the family that are among `only`: what a recorded table knows. The list
  // is a prefix trie, so that samples, masks and moves stay inside it.
  Space(const Family& family, Problem problem, Device device, std::span<const Program> only);
  ~Space();
  Space(Space&&) noexcept;
  Space& operator=(Space&&) noexcept;

  [[nodiscard]] const Family& family() const;
  // Number of legal programs (a double: exact below 2^53).
  [[nodiscard]] double count() const;
  // Uniform over the legal programs; nothing if there are none.
  [[nodiscard]] std::optional<Program> sample(Rng& rng) const;
  // All legal programs if count() <= limit, in vocabulary order; else nothing.
  [[nodiscard]] std::optional<std::vector<Program>> enumerate(std::size_t limit) const;
  // The values that the first undecided decision may take so that a legal program remains.
  [[nodiscard]] std::vector<Choice> next(const Choices& prefix) const;
  // Number of legal completions of a prefix (decided in order, the rest open).
  [[nodiscard]] double completions(const Choices& prefix) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The legal program that comes nearest to the wishes (key, value), taken in order; decisions
// without a wish get the middle of what is legal. Nothing if the space is empty.
[[nodiscard]] std::optional<Program> nearest_legal(
    const Space& space, const std::vector<std::pair<std::string_view, std::string_view>>& wishes);

// Local moves. All results are legal; none equals `program`.
// Programs that differ in exactly one decision (and in what exists because of it).
[[nodiscard]] std::vector<Program> neighbours(const Space& space, const Program& program);
// Changes one to three decisions at random, repairing later ones as needed.
[[nodiscard]] std::optional<Program> mutate(const Space& space, const Program& program, Rng& rng);
// Takes each decision from one of the parents at random where legal.
[[nodiscard]] std::optional<Program> crossover(const Space& space, const Program& a,
                                               const Program& b, Rng& rng);

}  // namespace tilewright
