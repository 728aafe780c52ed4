// SPDX-License-Identifier: Apache-2.0
// The programs that a policy is confined to, where a recorded table stands in for a device: one
// outside the table has no time. Shared by all policies that search the same table.
#pragma once

#include "program/space.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace tilewright {

class ProgramSet {
 public:
  // Those of `programs` that are legal, each once.
  ProgramSet(const Problem& problem, const Device& device, std::span<const Program> programs);
  [[nodiscard]] std::span<const Program> programs() const { return programs_; }
  [[nodiscard]] const std::vector<Space>& spaces() const { return spaces_; }  // none is empty
  [[nodiscard]] std::optional<std::size_t> find(const Program& program) const;
  [[nodiscard]] std::optional<std::size_t> find(const std::string& text) const;

  // The program nearest to a wish among those not `taken`, ties at random. A decision marked in
  // `moved` (by index; may be empty) weighs double: it is what the wish is about.
  [[nodiscard]] std::optional<std::size_t> nearest(const Choices& wish,
                                                   std::span<const std::uint8_t> moved,
                                                   std::span<const std::uint8_t> taken,
                                                   Rng& rng) const;

 private:
  std::vector<Program> programs_;
  std::vector<Space> spaces_;
  std::unordered_map<std::string, std::size_t> index_;
};

}  // namespace tilewright
