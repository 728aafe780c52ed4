// SPDX-License-Identifier: Apache-2.0
// A dense table of recorded trials (POLICY section 13). Failures are cells too: a search pays for
// them as it would on the device. Database::select gives the rows in the order in which they ended,
// so the first row of a program is what a search sees and the last is what a report uses.
#include "record/replay.h"

#include <fmt/format.h>

#include <algorithm>

namespace tilewright {

Result<ReplayTable> ReplayTable::load(const Database& database, const std::string& problem,
                                      const std::string& device, const std::string& mode) {
  // Empty would match everything, and times of two problems are no table.
  if (problem.empty() || device.empty() || mode.empty()) {
    return fail(ErrorCode::usage, fmt::format("replay needs a problem, a device and a mode, not "
                                              "'{}', '{}' and '{}'",
                                              problem, device, mode));
  }
  TrialQuery query;
  query.problem = problem;
  query.device = device;
  query.mode = mode;
  auto trials = database.select(query);
  if (!trials) return tl::unexpected(trials.error());
  return of(*std::move(trials));
}

ReplayTable ReplayTable::of(std::vector<Trial> trials) {
  ReplayTable table;
  for (Trial& trial : trials) {
    const auto [place, is_new] = table.index_.try_emplace(trial.program, table.programs_.size());
    const std::size_t at = place->second;
    const bool screen = trial.stage == "screen";
    if (is_new) {
      table.programs_.push_back(trial.program);
      table.screened_.push_back(screen ? 1 : 0);
      table.measured_.push_back(1);
      table.first_.push_back(trial);
      table.last_.push_back(std::move(trial));
      continue;
    }
    ++table.measured_[at];
    if (screen) ++table.screened_[at];
    if (screen || table.screened_[at] < 2) table.last_[at] = std::move(trial);
  }
  return table;
}

std::size_t ReplayTable::timed_again() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(measured_, [](int times) { return times > 1; }));
}

const Trial* ReplayTable::seen(const std::string& program) const {
  const auto found = index_.find(program);
  return found == index_.end() ? nullptr : &first_[found->second];
}

const Trial* ReplayTable::reported(const std::string& program) const {
  const auto found = index_.find(program);
  return found == index_.end() ? nullptr : &last_[found->second];
}

const Trial* ReplayTable::oracle() const {
  const Trial* best = nullptr;
  for (const Trial& trial : last_) {
    if (trial.outcome != Outcome::ok || !(trial.time_us > 0)) continue;
    if (best == nullptr || trial.time_us < best->time_us) best = &trial;
  }
  return best;
}

}  // namespace tilewright
