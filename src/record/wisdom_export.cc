// SPDX-License-Identifier: Apache-2.0
// The winners of a database as wisdom. A file of its own, so that reading wisdom links no database.
#include "record/database.h"
#include "record/wisdom.h"

#include <fmt/format.h>

#include <chrono>
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
  query.stage = "final";
  query.outcome = Outcome::ok;
  const auto trials = database.select(query);
  if (!trials) return tl::unexpected(trials.error());
  std::vector<WisdomEntry> entries;
  for (const Trial& trial : *trials) {
    if (trial.program.starts_with("source:") || !(trial.time_us > 0)) continue;
    WisdomEntry entry = entry_of(trial);
    if (auto s = check(entry); !s) {
      return fail(ErrorCode::refused,
                  fmt::format("trial {} makes no wisdom: {}", trial.id(), s.error().message),
                  "the row was written by another program");
    }
    entries.push_back(std::move(entry));
  }
  return fastest_of(device, entries);
}

}  // namespace tilewright
