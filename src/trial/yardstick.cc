// SPDX-License-Identifier: Apache-2.0
// See yardstick.h.
#include "trial/yardstick.h"

#include <algorithm>
#include <map>

namespace tilewright {
namespace {

// The time of `baseline` beside a trial, if it had nothing to choose; 0: none.
double plain_time(const Trial& trial, const std::string& baseline) {
  const auto found = trial.baselines.find(baseline);
  const bool plain = found != trial.baselines.end() && found->second.algorithm.empty();
  return plain ? found->second.time_us : 0;
}

}  // namespace

Yardstick::Yardstick(std::span<const Trial* const> trials) {
  if (trials.empty()) return;
  for (const auto& [name, time] : trials.front()->baselines) {
    if (std::ranges::all_of(trials, [&](const Trial* t) { return plain_time(*t, name) > 0; })) {
      baseline_ = name;
      return;
    }
  }
}

double Yardstick::beside(const Trial& trial) const {
  return baseline_.empty() ? 1 : plain_time(trial, baseline_);
}

const Trial* Yardstick::fastest(std::span<const Trial* const> trials) const {
  const std::vector<const Trial*> newest = newest_of_each_program(trials);
  const auto found = std::ranges::min_element(
      newest, {}, [this](const Trial* trial) { return trial->time_us / beside(*trial); });
  return found == newest.end() ? nullptr : *found;
}

bool is_newer(const Trial& a, const Trial& b) {
  return a.unix_ms != b.unix_ms ? a.unix_ms > b.unix_ms : a.id() > b.id();
}

std::vector<const Trial*> newest_of_each_program(std::span<const Trial* const> trials) {
  std::vector<const Trial*> newest;
  std::map<std::string_view, std::size_t> places;
  for (const Trial* trial : trials) {
    const auto [at, first] = places.try_emplace(trial->program, newest.size());
    if (first) {
      newest.push_back(trial);
    } else if (is_newer(*trial, *newest[at->second])) {
      newest[at->second] = trial;
    }
  }
  return newest;
}

bool was_timed_in_full(const Trial& trial) {
  return (trial.stage == "final" || trial.stage == "bench") && trial.outcome == Outcome::ok &&
         trial.time_us > 0;
}

bool has_a_text(const Trial& trial) {
  return !trial.policy.starts_with(kServedPolicy) && !trial.program.starts_with("source:");
}

}  // namespace tilewright
