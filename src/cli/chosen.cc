// SPDX-License-Identifier: Apache-2.0
// See chosen.h.
#include "cli/chosen.h"

#include "trial/yardstick.h"

#include <algorithm>

namespace tilewright {

std::optional<EarlierChoice> chosen_in(const std::vector<Trial>& trials) {
  std::vector<const Trial*> full;
  for (const Trial& trial : trials) {
    if (was_timed_in_full(trial)) full.push_back(&trial);
  }
  const Yardstick yardstick(full);
  const Trial* ours = nullptr;
  double least = 0;
  std::map<std::string, std::pair<double, std::string>> theirs;
  for (const Trial* trial : full) {
    const double unit = yardstick.beside(*trial);
    for (const auto& [name, time] : trial->baselines) {
      if (time.algorithm.empty() || !(time.time_us > 0)) continue;
      const auto [best, first] = theirs.try_emplace(name, time.time_us / unit, time.algorithm);
      if (!first) best->second = std::min(best->second, {time.time_us / unit, time.algorithm});
    }
    if (!has_a_text(*trial) || (ours != nullptr && trial->time_us / unit >= least)) continue;
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
