// SPDX-License-Identifier: Apache-2.0
// A sample of the legal programs in the order of the cost model. Small spaces are ranked whole; of
// large ones, uniform draws and, since these rarely hold the best corner, hill climbs from the best
// draw of each kind, each within its kind, with what they passed that is nearly as good.
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

// Fastest first; all of context.only where that is given. Programs in `seen` are left out; empty
// when nothing unseen was found.
[[nodiscard]] std::vector<Ranked> rank_sample(const std::vector<Space>& spaces,
                                              const PolicyContext& context, const Seen& seen,
                                              Rng& rng);

// What a program is at large: on a CPU its instruction set and form, on a GPU its form or schedule,
// its consumers, and where sums of a split K meet. The cost model compares programs of one kind
// better than kinds.
[[nodiscard]] std::string kind_of(const Program& program);

[[nodiscard]] const Space& space_of(const std::vector<Space>& spaces, const Program& program);

}  // namespace tilewright
