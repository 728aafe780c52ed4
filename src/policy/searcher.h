// SPDX-License-Identifier: Apache-2.0
// What the searches that learn from measured programs share: their pool, what came out so far, and
// the programs to start with. A search says which program it wants next; when it has no wish, a
// uniform draw keeps it going until the pool is dry.
#pragma once

#include "policy/pool.h"

#include <deque>
#include <optional>
#include <vector>

namespace tilewright {

struct Measured {
  Program program;
  double fitness = 0;  // fitness_of(), 0 for a failure
};

class Searcher : public Policy {
 public:
  Searcher(std::string_view name, PolicyContext context, std::uint64_t stream);
  std::vector<Program> propose(std::size_t count) final;
  void observe(const Trial& trial) final;
  [[nodiscard]] std::string_view name() const final { return name_; }

 protected:
  // A program that may or may not have been taken; asked again a few times if it was.
  [[nodiscard]] virtual std::optional<Program> wish() = 0;
  // Told of each result after measured() holds it.
  virtual void learn(const Measured& /*result*/) {}

  // The first programs: up to `winners` of the nearest shapes, `per_shape` of each at most where
  // nothing was timed in full; then `uniform` draws.
  void start_with(std::size_t winners, std::size_t per_shape, std::size_t uniform);
  // In the order in which they were observed.
  [[nodiscard]] const std::vector<Measured>& measured() const { return measured_; }
  // Positions in measured() of those that did not fail, fittest first.
  [[nodiscard]] const std::vector<std::size_t>& ranking() const { return ranking_; }
  [[nodiscard]] double knob(std::string_view word) const;  // of this policy
  [[nodiscard]] std::size_t knob_count(std::string_view word) const;

  PolicyContext context_;
  Pool pool_;
  Rng rng_;

 private:
  std::optional<Program> next();
  std::string_view name_;
  std::deque<Program> starts_;
  std::size_t uniform_starts_ = 0;
  std::vector<Measured> measured_;
  std::vector<std::size_t> ranking_;
};

}  // namespace tilewright
