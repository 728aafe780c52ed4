// SPDX-License-Identifier: Apache-2.0
// See chosen.h.
#include "cli/chosen.h"

#include "cli/bench_shop.h"

#include <algorithm>

namespace tilewright {
namespace {

bool in_full(const Trial& trial) {
  return (trial.stage == "final" || trial.stage == "bench") && trial.outcome == Outcome::ok &&
         trial.time_us > 0;
}

// The time of `baseline` beside a trial, if it had nothing to choose; 0: none.
double time_beside(const Trial& trial, const std::string& baseline) {
  const auto found = trial.baselines.find(baseline);
  const bool plain = found != trial.baselines.end() && found->second.algorithm.empty();
  return plain ? found->second.time_us : 0;
}

// Such a baseline that was timed beside all of them; empty: none was.
std::string common_baseline(const std::vector<const Trial*>& trials) {
  for (const auto& [name, time] : trials.front()->baselines) {
    if (std::ranges::all_of(trials, [&](const Trial* t) { return time_beside(*t, name) > 0; })) {
      return name;
    }
  }
  return {};
}

}  // namespace

std::optional<EarlierChoice> chosen_in(const std::vector<Trial>& trials) {
  std::vector<const Trial*> full;
  for (const Trial& trial : trials) {
    if (in_full(trial)) full.push_back(&trial);
  }
  if (full.empty()) return std::nullopt;
  const std::string common = common_baseline(full);
  const Trial* ours = nullptr;
  std::map<std::string, std::pair<double, std::string>> theirs;
  double least = 0;
  for (const Trial* trial : full) {
    const double unit = common.empty() ? 1 : time_beside(*trial, common);
    for (const auto& [name, time] : trial->baselines) {
      if (time.algorithm.empty() || !(time.time_us > 0)) continue;
      const auto [best, first] = theirs.try_emplace(name, time.time_us / unit, time.algorithm);
      if (!first) best->second = std::min(best->second, {time.time_us / unit, time.algorithm});
    }
    // What a bundle holds, or came from outside, cannot be made from its text.
    if (trial->policy.starts_with(kServedPolicy) || trial->program.starts_with("source:")) continue;
    if (ours != nullptr && trial->time_us / unit >= least) continue;
    ours = trial;
    least = trial->time_us / unit;
  }
  if (ours == nullptr) return std::nullopt;
  EarlierChoice chosen;
  chosen.program = ours->program;
  for (auto& [name, best] : theirs) chosen.algorithms[name] = std::move(best.second);
  return chosen;
}

}  // namespace tilewright
