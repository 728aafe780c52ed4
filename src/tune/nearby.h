// SPDX-License-Identifier: Apache-2.0
// Where a tune may start: what wisdom holds for a problem and for the shapes nearest to it. What
// won in one layout or type is nearly always good in the others, and a search need not find it
// again.
#pragma once

#include "device/device.h"
#include "program/program.h"
#include "record/wisdom.h"

#include <cstddef>
#include <vector>

namespace tilewright {

// The wisdom of one device, parsed once for many problems.
class NearbyPrograms {
 public:
  // Entries whose text this version no longer reads are left out.
  explicit NearbyPrograms(const Wisdom& wisdom);
  // Up to `count` different programs that are legal for the problem: those of its own shape first,
  // of these the ones in its own layout and types, then of the next nearest shape (by log2 of each
  // axis).
  [[nodiscard]] std::vector<Program> of(const Problem& problem, const Device& device,
                                        std::size_t count) const;

 private:
  struct Entry {
    Problem problem;
    Program program;
  };
  std::vector<Entry> entries_;
};

}  // namespace tilewright
