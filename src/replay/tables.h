// SPDX-License-Identifier: Apache-2.0
// Recorded trials as tables to search in: one table per problem, with the device that it was
// measured on, from databases and from files of trials.
#pragma once

#include "base/error.h"
#include "device/device.h"
#include "policy/program_set.h"
#include "record/replay.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace tilewright {

struct ReplayWorld {
  Problem problem;
  ReplayTable table;
  std::shared_ptr<const ProgramSet> programs;  // what a policy may propose
  double oracle_us = 0;   // of the table, not of the space; 0: nothing was right
  bool held_out = false;  // split_of()
};

struct Records {
  std::vector<Trial> trials;  // of one device and mode, in the order in which they ended
  Device device;
};

// Trials of a .jsonl file, one a line, or of a .jsonl.gz file (read with the gzip program).
[[nodiscard]] Result<std::vector<Trial>> read_trials(const std::filesystem::path& path);

// Those on the device whose fingerprint begins with `device`, in one mode, each once. More than one
// such device is an error that lists them.
[[nodiscard]] Result<std::vector<Trial>> select_trials(std::vector<Trial> trials,
                                                       const std::string& device,
                                                       const std::string& mode);

// Problems with fewer than `least` legal programs in their table, or nothing that was right, are
// left out and named in `left_out`.
[[nodiscard]] std::vector<ReplayWorld> make_worlds(const std::vector<Trial>& trials,
                                                   const Device& device, std::size_t least,
                                                   std::vector<std::string>* left_out);

// What the tables are like, for an honest headline.
struct TableFacts {
  std::size_t cells = 0, timed_again = 0, failures = 0;
  std::size_t programs = 0;  // different ones over all problems
  double density = 0;  // cells over programs times problems, each program where it is legal only
  double noise = 0;    // median of |ln(second time / first)| where there are two
  std::vector<std::string> proposers;  // policies that chose the cells
};
[[nodiscard]] TableFacts facts_of(const std::vector<ReplayWorld>& worlds, const Device& device);

}  // namespace tilewright
