// SPDX-License-Identifier: Apache-2.0
// The grammar mask of a language model: which tokens may follow a prefix so that a legal program
// remains possible. With the mask, every sampled text parses and is legal.
#pragma once

#include "program/space.h"

#include <span>
#include <string>
#include <vector>

namespace tilewright {

// For many prefixes of one problem on one device: counts are shared between calls.
class Grammar {
 public:
  Grammar(const Problem& problem, const Device& device);
  // The mask for replay: only texts of `only` that are legal can be written.
  Grammar(const Problem& problem, const Device& device, std::span<const Program> only);
  // `prefix` holds the tokens already written, the family first. Returns ids into vocabulary(), in
  // order. An empty prefix offers the families that have a legal program; a whole program offers
  // the end token alone; a prefix that no legal program begins with offers nothing.
  [[nodiscard]] std::vector<int> next(const std::vector<std::string>& prefix) const;

 private:
  std::vector<Space> spaces_;  // one per family
};

[[nodiscard]] std::vector<int> next_legal_tokens(const std::vector<std::string>& prefix,
                                                 const Problem& problem, const Device& device);

}  // namespace tilewright
