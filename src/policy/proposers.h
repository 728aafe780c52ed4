// SPDX-License-Identifier: Apache-2.0
// What the policies of this folder share: a memory of what was proposed, and the makers.
#pragma once

#include "policy/policy.h"

#include <set>
#include <string>

namespace tilewright {

[[nodiscard]] std::unique_ptr<Policy> make_random(PolicyContext context);
[[nodiscard]] std::unique_ptr<Policy> make_analytic(PolicyContext context);
[[nodiscard]] std::unique_ptr<Policy> make_evolve(PolicyContext context);
[[nodiscard]] std::unique_ptr<Policy> make_genetic(PolicyContext context);
[[nodiscard]] std::unique_ptr<Policy> make_anneal(PolicyContext context);
[[nodiscard]] std::unique_ptr<Policy> make_parzen(PolicyContext context);
[[nodiscard]] std::unique_ptr<Policy> make_transfer(PolicyContext context);
[[nodiscard]] std::unique_ptr<Policy> make_table(PolicyContext context);
[[nodiscard]] Result<std::unique_ptr<Policy>> make_language(PolicyContext context);
[[nodiscard]] Result<std::unique_ptr<Policy>> make_heuristics(PolicyContext context);
[[nodiscard]] Result<std::unique_ptr<Policy>> make_boost(PolicyContext context, bool pretrained);

// All families that have a legal program for the problem.
[[nodiscard]] std::vector<Space> legal_spaces(const Problem& problem, const Device& device);

// Uniform over the legal programs of all spaces together.
[[nodiscard]] std::optional<Program> sample_any(const std::vector<Space>& spaces, Rng& rng);

// Programs already proposed or already known from recorded trials: never proposed again.
class Seen {
 public:
  // True the first time.
  bool add(const Program& program) { return texts_.insert(program.text()).second; }
  void add_text(const std::string& text) { texts_.insert(text); }
  [[nodiscard]] bool contains(const Program& program) const {
    return texts_.contains(program.text());
  }

 private:
  std::set<std::string> texts_;
};

}  // namespace tilewright
