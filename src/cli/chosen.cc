// SPDX-License-Identifier: Apache-2.0
// See chosen.h.
#include "cli/chosen.h"

#include "cli/bench_shop.h"

namespace tilewright {

std::optional<EarlierChoice> chosen_in(const std::vector<Trial>& trials) {
  const Trial* ours = nullptr;
  std::map<std::string, const BaselineTime*> theirs;
  for (const Trial& trial : trials) {
    const bool in_full = trial.stage == "final" || trial.stage == "bench";
    if (trial.outcome != Outcome::ok || !in_full || !(trial.time_us > 0)) continue;
    for (const auto& [name, time] : trial.baselines) {
      if (time.algorithm.empty() || !(time.time_us > 0)) continue;
      const BaselineTime*& best = theirs[name];
      if (best == nullptr || time.time_us < best->time_us) best = &time;
    }
    // What a bundle holds, or came from outside, cannot be made from its text.
    if (trial.policy.starts_with(kServedPolicy) || trial.program.starts_with("source:")) continue;
    if (ours == nullptr || trial.time_us < ours->time_us) ours = &trial;
  }
  if (ours == nullptr) return std::nullopt;
  EarlierChoice chosen;
  chosen.program = ours->program;
  for (const auto& [name, best] : theirs) chosen.algorithms[name] = best->algorithm;
  return chosen;
}

}  // namespace tilewright
