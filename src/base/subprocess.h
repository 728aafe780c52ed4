// SPDX-License-Identifier: Apache-2.0
// A child process with limits: its own process group, a wall clock limit, a cap on what it prints,
// resource limits, and no shell. A child that overruns is killed with its whole group.
#pragma once

#include "base/error.h"

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

struct Command {
  std::vector<std::string> argv;            // argv[0] is looked up in PATH unless it holds a slash
  std::filesystem::path directory;          // empty: the current one
  std::vector<std::string> environment;     // "KEY=value", added to ours
  std::chrono::milliseconds limit{60000};   // wall clock, not counting time spent paused
  std::size_t output_cap = 1 << 20;         // bytes of stdout + stderr kept; the rest is counted
  std::optional<std::size_t> memory_limit;  // RLIMIT_AS in bytes
  std::optional<std::size_t> file_limit;    // RLIMIT_FSIZE in bytes: SIGXFSZ for a larger file
};

struct Completion {
  int exit_code = -1;      // valid if !signal
  int signal = 0;          // the signal that ended it, or 0
  bool timed_out = false;  // killed at the limit
  bool cancelled = false;  // killed because `cancel` returned true
  std::string output;      // stdout and stderr, interleaved as they came, up to the cap
  std::size_t output_dropped = 0;
  std::chrono::milliseconds wall{0};
};

// Called about every 20 ms while the child runs.
struct Supervision {
  std::function<bool()> cancel;  // true: kill the group and return
  std::function<bool()> pause;   // true: keep the group stopped (SIGSTOP), false: running
};

// Runs to completion. An Error only if the program could not be started (named in the message).
[[nodiscard]] Result<Completion> run(const Command& command, const Supervision& supervision = {});

// Where `name` is in PATH, or nothing.
[[nodiscard]] std::optional<std::filesystem::path> find_program(const std::string& name);

}  // namespace tilewright
