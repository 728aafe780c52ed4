// SPDX-License-Identifier: Apache-2.0
// A run against a mis-set baseline is refused before it begins.
#pragma once

#include "cli/command.h"

namespace tilewright {

// Measures the FMA peak and runs the baselines' self-check in a child process (libraries start
// threads when they are loaded). Records both in `context`. An Error of code environment if the
// check fails; no BLAS at all is a remark, not an error.
[[nodiscard]] Status require_honest_baselines(const Cli& cli, const Device& device,
                                              Context& context);

}  // namespace tilewright
