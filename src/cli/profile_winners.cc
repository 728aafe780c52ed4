// SPDX-License-Identifier: Apache-2.0
// See profile_winners.h.
#include "cli/profile_winners.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace tilewright {

std::vector<Trial> winners_of(const std::vector<Trial>& trials, std::size_t top) {
  const auto better = [](const Trial& a, const Trial& b) {
    return std::pair(a.stage == "screen", a.time_us) < std::pair(b.stage == "screen", b.time_us);
  };
  std::vector<std::string> problems;
  std::map<std::string, std::map<std::string, const Trial*>> best;
  for (const Trial& trial : trials) {
    if (trial.outcome != Outcome::ok || !(trial.time_us > 0)) continue;
    if (trial.program.starts_with("source:")) continue;
    if (!best.contains(trial.problem)) problems.push_back(trial.problem);
    const Trial*& known = best[trial.problem][trial.program];
    if (known == nullptr || better(trial, *known)) known = &trial;
  }
  std::vector<Trial> winners;
  for (const std::string& problem : problems) {
    std::vector<const Trial*> ranked;
    for (const auto& [program, trial] : best[problem]) ranked.push_back(trial);
    std::ranges::stable_sort(ranked,
                             [&](const Trial* a, const Trial* b) { return better(*a, *b); });
    for (std::size_t i = 0; i < std::min(top, ranked.size()); ++i) winners.push_back(*ranked[i]);
  }
  return winners;
}

}  // namespace tilewright
