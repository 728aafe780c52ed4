// SPDX-License-Identifier: Apache-2.0
// Which kernels go into a bundle for the runtime library: a table of those that together serve any
// product, and the winners of a wisdom file. Sources only; nothing is compiled here.
#pragma once

#include "generate/generate.h"
#include "record/wisdom.h"
#include "runtime/cuda/bundle.h"

#include <string>
#include <vector>

namespace tilewright {

struct PlannedKernel {
  runtime::BundleKernel kernel;  // without its cubin
  Source source;
};

// For both input types, results in the same type and in f32, all four layouts, and rows aligned to
// 8 elements or to any number: tiny, skinny, middle and large tiles. An Error if a row of the table
// is not legal on `device`.
[[nodiscard]] Result<std::vector<PlannedKernel>> core_kernels(const Device& device);

// Each winner as it was timed, and in the served form: itself if it can be, else the nearest
// program that can. What cannot be generated is left out with a line in `notes`.
[[nodiscard]] std::vector<PlannedKernel> winners(const Wisdom& wisdom, const Device& device,
                                                 std::vector<std::string>& notes);

}  // namespace tilewright
