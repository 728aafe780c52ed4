// SPDX-License-Identifier: Apache-2.0
// What to measure where there is no time for a search: a few programs per shape, and all of a
// sweep's kernels. Pure: the same shapes on the same device give the same lists.
#pragma once

#include "program/program.h"

#include <span>
#include <vector>

namespace tilewright {

// Up to `count` programs for a CUDA device: experts and the cost model's best of the palette
// (experts_cuda.h), of different kinds first (lineup.h). Empty for other devices.
[[nodiscard]] std::vector<Program> shortlist(const Problem& problem, const Device& device,
                                             std::size_t count);

// A kernel of a sweep: a problem that it serves, and how. Programs with run-time sizes serve all
// problems of one type, layout, alignment and scaling, and stand here once.
struct SweepKernel {
  Problem problem;
  Program program;
  std::size_t serves = 1;  // problems whose shortlists hold it
};
[[nodiscard]] std::vector<SweepKernel> sweep_set(std::span<const Problem> problems,
                                                 const Device& device, std::size_t count);

// What of a problem a kernel with run-time sizes is compiled for; with static ones, all of it.
[[nodiscard]] std::string kernel_key(const Program& program, const Problem& problem);

}  // namespace tilewright
