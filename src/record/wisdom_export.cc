// SPDX-License-Identifier: Apache-2.0
// The winners of a database as wisdom. A file of its own, so that reading wisdom links no database.
#include "record/database.h"
#include "record/wisdom.h"
#include "trial/yardstick.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <utility>

namespace tilewright {
namespace {

std::string date_of(std::int64_t unix_ms) {
  using namespace std::chrono;
  const year_month_day date{floor<days>(sys_time<milliseconds>(milliseconds(unix_ms)))};
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
}

WisdomEntry entry_of(const Trial& trial) {
  const auto* reference = trial.fastest_baseline();
  return {.problem = trial.problem,
          .program = trial.program,
          .mode = trial.mode,
          .time_us = trial.time_us,
          .reference = reference != nullptr ? reference->first : std::string(),
          .ratio = trial.speedup(),
          .date = date_of(trial.unix_ms)};
}

}  // namespace

Result<Wisdom> export_wisdom(const Database& database, const Device& device) {
  TrialQuery query;
  query.device = device.fingerprint();
  query.outcome = Outcome::ok;
  std::map<std::pair<std::string, std::string>, std::vector<const Trial*>> groups;
  std::vector<Trial> trials;
  for (const char* stage : {"final", "bench"}) {
    query.stage = stage;
    auto some = database.select(query);
    if (!some) return tl::unexpected(some.error());
    std::ranges::move(*some, std::back_inserter(trials));
  }
  for (const Trial& trial : trials) {
    if (!was_timed_in_full(trial) || !has_a_text(trial)) continue;
    groups[{trial.problem, trial.mode}].push_back(&trial);
  }
  std::vector<WisdomEntry> entries;
  for (const auto& [of, group] : groups) {
    const Trial& winner = *Yardstick(group).fastest(group);
    WisdomEntry entry = entry_of(winner);
    if (auto s = check(entry); !s) {
      return fail(ErrorCode::refused,
                  fmt::format("trial {} makes no wisdom: {}", winner.id(), s.error().message),
                  "the row was written by another program");
    }
    entries.push_back(std::move(entry));
  }
  return fastest_of(device, entries);
}

}  // namespace tilewright
