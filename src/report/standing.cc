// SPDX-License-Identifier: Apache-2.0
// See standing.h.
#include "report/standing.h"

#include "trial/yardstick.h"

#include <map>
#include <string>
#include <tuple>
#include <utility>

namespace tilewright {
namespace {

bool same_finals(const Trial& a, const Trial& b) {
  return a.stage == "final" && b.stage == "final" && a.run == b.run;
}

}  // namespace

std::vector<Trial> standing_trials(const std::vector<Trial>& trials) {
  std::map<std::pair<std::string, std::string>, const Trial*> newest, standing;
  for (const Trial& trial : trials) {
    if (!was_timed_in_full(trial)) continue;
    const Trial*& place = newest[{trial.problem, trial.mode}];
    if (place == nullptr || is_newer(trial, *place)) place = &trial;
  }
  standing = newest;
  for (const Trial& trial : trials) {
    if (!was_timed_in_full(trial)) continue;
    const std::pair key(trial.problem, trial.mode);
    const Trial*& place = standing[key];
    if (!same_finals(trial, *newest[key])) continue;
    const auto better = std::tuple(trial.speedup(), -trial.time_us) <=>
                        std::tuple(place->speedup(), -place->time_us);
    if (better > 0 || (better == 0 && is_newer(trial, *place))) place = &trial;
  }
  std::vector<Trial> out;
  for (const auto& [key, trial] : standing) out.push_back(*trial);
  return out;
}

}  // namespace tilewright
