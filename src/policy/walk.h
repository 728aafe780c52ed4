// SPDX-License-Identifier: Apache-2.0
// Programs decision by decision, without counting the space (program/space.h): far cheaper where a
// thousand shapes are looked at, but neither uniform nor complete. A walk may end where no value is
// legal; then there is no program.
#pragma once

#include "base/rng.h"
#include "program/program.h"

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace tilewright {

using Wishes = std::vector<std::pair<std::string_view, std::string_view>>;

class Walk {
 public:
  Walk(const Family& family, const Problem& problem, const Device& device);

  // The first legal value at each decision, those near the wish first; where a ring does not fit,
  // shorter ones. A wish with a word that must hold exactly is in `fixed`.
  [[nodiscard]] std::optional<Program> nearest(const Wishes& wishes, const Wishes& fixed) const;
  // A random legal value at each decision.
  [[nodiscard]] std::optional<Program> draw(Rng& rng) const;
  [[nodiscard]] bool allows(const Choices& choices) const;

 private:
  template <class Order>
  [[nodiscard]] std::optional<Program> walk(const Order& order) const;

  const Family& family_;
  const Problem& problem_;
  const Device& device_;
  bool open_ = true;                           // rules that read no decision hold
  std::vector<std::vector<const Rule*>> due_;  // rules whose last read decision is i
};

}  // namespace tilewright
