// SPDX-License-Identifier: Apache-2.0
// The problems of a command: arguments and suites, crossed with layouts, types and accumulators.
#pragma once

#include "cli/command.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

struct ProblemFlags {
  std::vector<std::string> problems, suites;
  std::vector<std::string> layouts, types, accumulators;  // empty: as each problem says
  bool strict = false;
  std::optional<std::uint64_t> shuffle;  // seed
  std::string part;                      // I/N
};

// Declares the argument and --suite, --layouts, --types, --acc, --shuffle, --part, --strict.
void add_problem_flags(CLI::App& command, ProblemFlags& flags);

// What read_suite() takes for the NAME of --suite: a suite that came with us, or a file.
[[nodiscard]] std::string suite_argument(const std::string& name);

// The problems in their order (--shuffle), this device's part of them (--part), each in each type,
// accumulator and layout asked for, layouts turning fastest; duplicates keep their first place.
[[nodiscard]] Result<std::vector<Problem>> expand(const std::vector<Problem>& problems,
                                                  const ProblemFlags& flags);

// All of it. At least one problem must be named.
[[nodiscard]] Result<Problems> read_problems(const ProblemFlags& flags);

}  // namespace tilewright
