// SPDX-License-Identifier: Apache-2.0
// See finalists.h.
#include "tune/finalists.h"

#include <algorithm>

namespace tilewright {
namespace {

// The ratio to a baseline of the same minute; the time where there is no baseline.
double fitness(const Trial& trial) {
  return trial.speedup() > 0 ? trial.speedup() : 1 / trial.time_us;
}

bool is_timed(const Trial& trial) {
  return trial.outcome == Outcome::ok && trial.time_us > 0;
}

}  // namespace

Finalists::Finalists(const std::vector<Trial>& screened, std::size_t wanted) : wanted_(wanted) {
  std::ranges::copy_if(screened, std::back_inserter(line_), is_timed);
  timed_ = line_.size();
  std::ranges::stable_sort(line_,
                           [](const Trial& a, const Trial& b) { return fitness(a) > fitness(b); });
  std::ranges::copy_if(screened, std::back_inserter(line_),
                       [](const Trial& trial) { return trial.outcome == Outcome::noisy; });
  first_time_ = line_.size();
}

std::optional<Trial> Finalists::next(bool haste) {
  const bool behind = next_ >= timed_;
  if (next_ == line_.size() || stood_ == wanted_) return std::nullopt;
  if (haste && (stood_ > 0 || behind)) return std::nullopt;
  if (behind && stood_ > 0) return std::nullopt;
  return line_[next_++];
}

void Finalists::ended(const Trial& final) {
  if (final.outcome == Outcome::noisy && next_ <= first_time_) line_.push_back(final);
  if (!is_timed(final)) return;
  ++stood_;
  if (!winner_ || fitness(final) > fitness(*winner_)) winner_ = final;
}

}  // namespace tilewright
