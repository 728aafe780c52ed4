// SPDX-License-Identifier: Apache-2.0
// See race.h.
#include "base/race.h"

#include <algorithm>
#include <limits>

namespace tilewright {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

double median(std::vector<double> values) {
  if (values.empty()) return kNever;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  if (values.size() % 2 != 0) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

struct Runner {
  std::vector<double> samples;
  double median = kNever;
  bool racing = true;
};

// Times everyone once; the medians are up to date afterwards.
void run_round(std::vector<Runner>& field, const std::function<Result<double>(int)>& time_once) {
  for (std::size_t i = 0; i < field.size(); ++i) {
    Runner& runner = field[i];
    if (!runner.racing) continue;
    const Result<double> seconds = time_once(static_cast<int>(i));
    if (!seconds || !(*seconds > 0)) {  // no time is no result: it must never win
      runner = {{}, kNever, false};
      continue;
    }
    runner.samples.push_back(*seconds);
    runner.median = median(runner.samples);
  }
}

void drop_slow(std::vector<Runner>& field, double factor) {
  double best = kNever;
  for (const Runner& runner : field) best = std::min(best, runner.median);
  for (Runner& runner : field) {
    if (runner.median > best * factor) runner.racing = false;
  }
}

}  // namespace

RaceResult race(int count, const std::function<Result<double>(int)>& time_once,
                const std::function<double()>& now, const RaceRules& rules) {
  std::vector<Runner> field(static_cast<std::size_t>(count));
  const double start = now();
  RaceResult result;
  run_round(field, time_once);
  drop_slow(field, rules.first_keep);
  for (Runner& runner : field) {  // the first round was for warming up
    if (runner.racing) runner.samples.clear();
  }
  while (result.rounds < rules.most_rounds) {
    const bool spent = now() - start >= rules.budget_seconds;
    if (spent && result.rounds >= rules.least_rounds) break;
    run_round(field, time_once);
    drop_slow(field, rules.keep);
    ++result.rounds;
  }
  for (std::size_t i = 0; i < field.size(); ++i) {
    result.medians.push_back(field[i].median);
    if (field[i].median < kNever) result.order.push_back(static_cast<int>(i));
  }
  // A dropped runner's median is of fewer rounds, so who finished comes first.
  std::ranges::stable_sort(result.order, [&](int x, int y) {
    const Runner& a = field[static_cast<std::size_t>(x)];
    const Runner& b = field[static_cast<std::size_t>(y)];
    return std::pair(!a.racing, a.median) < std::pair(!b.racing, b.median);
  });
  return result;
}

}  // namespace tilewright
