// SPDX-License-Identifier: Apache-2.0
// Expert programs for CUDA devices (experts.h), and the palette: a few hundred plain programs over
// all tiles and schedules worth having. Shapes that are offered the same palette share kernels, as
// one with run-time sizes serves all shapes of its layout and type.
#pragma once

#include "program/program.h"

#include <vector>

namespace tilewright {

// What is known to be good for the problem's class; best first, no duplicates.
[[nodiscard]] std::vector<Program> cuda_experts(const Problem& problem, const Device& device);
// The palette's legal programs, unordered, no duplicates; static sizes where they pay (lineup.h).
[[nodiscard]] std::vector<Program> cuda_palette(const Problem& problem, const Device& device);

}  // namespace tilewright
