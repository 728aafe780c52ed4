// SPDX-License-Identifier: Apache-2.0
// Checking what was timed: the outputs of the very calls whose time will be believed.
//
// Data are drawn after the proof; A is rewritten before every round; each set's C is checked
// against its present A after the round, by Freivalds products, set 0 element by element; then once
// more after timing, over NaN. So a kernel that behaves while it is being proven has nowhere to
// stop.
#pragma once

#include "base/outcome.h"
#include "verify/freivalds.h"
#include "verify/proof.h"
#include "verify/stage.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace tilewright {

class TimedOutputs {
 public:
  TimedOutputs(const Arena& arena, std::uint64_t seed);

  void arm();
  void refresh();
  [[nodiscard]] Finding check(const std::vector<int>& ran);
  [[nodiscard]] Finding replay(const Caller& caller);

 private:
  [[nodiscard]] DataKind kind() const;
  void fill_c(int set, std::uint64_t seed);
  const Freivalds& freivalds(int set);
  [[nodiscard]] Finding check_set(int set);
  [[nodiscard]] Finding check_in_full(int set, std::int64_t calls, const char* rule) const;

  const Arena& arena_;
  const Problem& problem_;
  std::uint64_t seed_;
  std::uint64_t draws_ = 0;
  Stage stage_;
  double beta_;
  std::vector<std::optional<Freivalds>> freivalds_;         // per set; gone when B changes
  std::vector<std::optional<Freivalds::Weighed>> weighed_;  // C at the start of a round, if read
};

}  // namespace tilewright
