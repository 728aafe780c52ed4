// SPDX-License-Identifier: Apache-2.0
// See chosen.h.
#include "cli/chosen.h"

#include "trial/yardstick.h"

#include <algorithm>
#include <iterator>

namespace tilewright {

std::optional<EarlierChoice> chosen_in(const std::vector<Trial>& trials) {
  std::vector<const Trial*> full;
  for (const Trial& trial : trials) {
    if (was_timed_in_full(trial)) full.push_back(&trial);
  }
  const Yardstick yardstick(full);
  std::vector<const Trial*> ours;
  std::ranges::copy_if(full, std::back_inserter(ours),
                       [](const Trial* t) { return has_a_text(*t); });
  const Trial* const fastest = yardstick.fastest(ours);
  if (fastest == nullptr) return std::nullopt;
  EarlierChoice chosen;
  chosen.program = fastest->program;
  // The same for the other side: by baseline and algorithm, the newest time of each.
  std::map<std::string, std::map<std::string, double>> theirs;
  std::ranges::sort(full, [](const Trial* a, const Trial* b) { return is_newer(*b, *a); });
  for (const Trial* trial : full) {
    for (const auto& [name, time] : trial->baselines) {
      if (time.algorithm.empty() || !(time.time_us > 0)) continue;
      theirs[name][time.algorithm] = time.time_us / yardstick.beside(*trial);
    }
  }
  for (const auto& [name, times] : theirs) {
    chosen.algorithms[name] =
        std::ranges::min_element(times, {}, &std::pair<const std::string, double>::second)->first;
  }
  return chosen;
}

}  // namespace tilewright
