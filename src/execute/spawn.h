// SPDX-License-Identifier: Apache-2.0
// Starting a runner program and putting it away, private to this folder.
#pragma once

#include "base/error.h"

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

struct RunnerName {
  const char* program;   // as it is called beside our program or in PATH
  const char* variable;  // that names another
};

// `asked` if not empty, else what the variable names, else beside this program or in ../bin from
// there, else in PATH.
[[nodiscard]] Result<std::filesystem::path> find_runner(const RunnerName& name,
                                                        const std::filesystem::path& asked);

// Spawns `program` in a process group of its own, so that Ctrl-C reaches this process alone and the
// runner goes when we let it go. Descriptor 3 is `socket`; `variables` ("NAME=value") are added to
// our environment.
[[nodiscard]] Result<pid_t> spawn_runner(const std::filesystem::path& program,
                                         std::vector<std::string> variables, int socket);

// Waits for `pid` up to `limit`. Its status as waitpid gives it (0 if somebody else reaped it), or
// nothing if it still runs.
[[nodiscard]] std::optional<int> wait_for(pid_t pid, std::chrono::milliseconds limit);

}  // namespace tilewright
