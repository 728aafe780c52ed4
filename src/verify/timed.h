// SPDX-License-Identifier: Apache-2.0
// Checking what was timed: the outputs of the very calls whose time will be believed.
//
// Data are drawn after the proof; A is rewritten before every round; each set's C is checked
// against its present A after the round, by Freivalds products, set 0 element by element; then once
// more after timing, over NaN. So a kernel that behaves while it is being proven has nowhere to
// stop.
#pragma once

#include "base/outcome.h"
#include "verify/ground.h"
#include "verify/proof.h"

#include <cstdint>
#include <vector>

namespace tilewright {

class TimedOutputs {
 public:
  TimedOutputs(Ground& ground, std::uint64_t seed);

  void arm();
  void refresh();
  [[nodiscard]] Finding check(const std::vector<int>& ran);
  [[nodiscard]] Finding replay(const Caller& caller);

 private:
  [[nodiscard]] DataKind kind() const;
  void fill_c(int set, std::uint64_t seed);
  [[nodiscard]] Finding check_set(int set);
  // `finding`, unless the checker itself failed.
  [[nodiscard]] Finding trusted(Finding finding) const;

  Ground& ground_;
  const Problem& problem_;
  std::uint64_t seed_;
  std::uint64_t draws_ = 0;
  double beta_;
};

}  // namespace tilewright
