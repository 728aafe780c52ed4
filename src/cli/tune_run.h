// SPDX-License-Identifier: Apache-2.0
// What the commands that measure by the tune loop share: tune and table.
#pragma once

#include "cli/command.h"
#include "tune/tune.h"

#include <vector>

namespace tilewright {

// Seed, threads, runner, cache and compilers of the settings.
[[nodiscard]] Status add_settings(TuneOptions& options, const Cli& cli);

// tune() behind honest baselines, with a line of progress; Ctrl-C stops it. What the baselines'
// check found is added to `context`.
[[nodiscard]] Result<std::vector<TuneResult>> run_tune(const std::vector<Problem>& problems,
                                                       const Device& device, Database& database,
                                                       TuneOptions& options, Cli& cli,
                                                       Context& context);

}  // namespace tilewright
