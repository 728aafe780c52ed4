// SPDX-License-Identifier: Apache-2.0
// Replay: a recorded table stands in for a device, so that policies are compared without compiling.
#pragma once

#include "record/database.h"

#include <string>
#include <unordered_map>
#include <vector>

namespace tilewright {

class ReplayTable {
 public:
  // All trials of one problem on one device. Where a program was measured more than once, a search
  // sees the first and the report uses the last: a lucky minimum is not reported. Where it was
  // screened twice, these two count alone: a full timing of a few finalists is another protocol.
  [[nodiscard]] static Result<ReplayTable> load(const Database& database,
                                                const std::string& problem,
                                                const std::string& device, const std::string& mode);
  // The same from trials of one problem, device and mode, in the order in which they ended.
  [[nodiscard]] static ReplayTable of(std::vector<Trial> trials);
  // Each program once, in the order in which they were first measured.
  [[nodiscard]] const std::vector<std::string>& programs() const { return programs_; }
  // What a search sees for this program, or nothing if it is not in the table.
  [[nodiscard]] const Trial* seen(const std::string& program) const;
  // What a report uses.
  [[nodiscard]] const Trial* reported(const std::string& program) const;
  // Programs that were measured more than once.
  [[nodiscard]] std::size_t timed_again() const;
  // The best reported ok trial: the oracle of the table, not of the space.
  [[nodiscard]] const Trial* oracle() const;

 private:
  std::vector<std::string> programs_;
  std::vector<Trial> first_, last_;  // by position in programs_
  std::vector<int> screened_, measured_;
  std::unordered_map<std::string, std::size_t> index_;
};

}  // namespace tilewright
