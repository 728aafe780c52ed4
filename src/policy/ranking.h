// SPDX-License-Identifier: Apache-2.0
// A sample of the legal programs in the order of the cost model. Small spaces are ranked whole; of
// large ones, uniform draws and, since these rarely hold the best corner, hill climbs from the best
// draw of each kind (kind: the first two decisions, such as instruction set and form).
#pragma once

#include "policy/proposers.h"

#include <string>
#include <vector>

namespace tilewright {

struct Ranked {
  double seconds = 0;  // estimated
  Program program;
  std::string kind;
};

// Fastest first. Programs in `seen` are left out; empty when nothing unseen was found.
[[nodiscard]] std::vector<Ranked> rank_sample(const std::vector<Space>& spaces,
                                              const PolicyContext& context, const Seen& seen,
                                              Rng& rng);

[[nodiscard]] const Space& space_of(const std::vector<Space>& spaces, const Program& program);

}  // namespace tilewright
