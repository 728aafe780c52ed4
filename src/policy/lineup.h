// SPDX-License-Identifier: Apache-2.0
// The first programs to measure of a CUDA problem. A sweep affords six a shape, so that no two of
// them may be nearly the same kernel: what the model knows least, the kind, has to differ first.
#pragma once

#include "policy/ranking.h"

#include <span>
#include <string>
#include <vector>

namespace tilewright {

// So many places of the front are diverse; policies go on with the plain ranking.
inline constexpr std::size_t kDiversePlaces = 12;

// Up to `count` programs, by turns of the experts' (experts_cuda.h) and of the cost model's choice
// among `ranked` (fastest first). The model's best of each kind that comes near stand before its
// second choices. Within kDiversePlaces all builds (below) differ, and a tile is there twice at
// most.
[[nodiscard]] std::vector<Program> lineup(const Problem& problem, const Device& device,
                                          std::span<const Ranked> ranked, std::size_t count);

// A program's text without what hardly changes the kernel: the order of tiles, how far it looks
// ahead, and whether it knows the sizes.
[[nodiscard]] std::string build_of(const Program& program);

// The program with the better of static and run-time sizes. Static ones are compiled for one shape:
// always taken for small problems, for others where the model says that this pays.
[[nodiscard]] Program sized(const Program& program, const Problem& problem, const Device& device);

}  // namespace tilewright
