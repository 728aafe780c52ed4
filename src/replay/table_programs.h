// SPDX-License-Identifier: Apache-2.0
// The programs of a dense table: one set for all shapes, so that every search sees the same choice
// everywhere and kernels with run-time sizes are compiled once.
#pragma once

#include "base/error.h"
#include "device/device.h"
#include "program/program.h"
#include "trial/trial.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tilewright {

struct CommonSetOptions {
  std::size_t programs = 2000;
  double most = 0.8;       // of the problems on which a program must be legal
  double analytic = 0.25;  // share from experts and the front of the cost model's ranking
  double elite = 0.1;      // share of the fittest recorded programs, if there are any
  std::uint64_t seed = 1;  // the rest is uniform over the legal programs
  std::vector<std::pair<std::string, std::string>> fixed;  // decisions that all must have
};

struct CommonSet {
  std::vector<Program> programs;               // in random order: an unfinished table is a fair one
  std::map<std::string, std::size_t> sources;  // elite, analytic, uniform: how many of each
};

// Fewer programs than asked for where the legal space is small. Elites and the ranking take turns
// over the problems.
[[nodiscard]] Result<CommonSet> common_set(const std::vector<Problem>& problems,
                                           const Device& device, const std::vector<Trial>& recorded,
                                           const CommonSetOptions& options);

// One program a line, after comments that say how they were chosen.
[[nodiscard]] std::string to_text(const CommonSet& set, const CommonSetOptions& options,
                                  std::size_t problems);
[[nodiscard]] Result<std::vector<Program>> programs_from(const std::string& text,
                                                         const std::string& name);

}  // namespace tilewright
