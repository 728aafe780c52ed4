// SPDX-License-Identifier: Apache-2.0
// Trials to numbers. Every line here is a formula of POLICY section 9 or of the paper's Eq. 3, and
// reward_test.cc works each of them by hand.
#include "reward/reward.h"

#include "base/text.h"

#include <algorithm>
#include <cmath>

namespace tilewright {
namespace {

// A trial whose numbers mean something. An ok trial without a time, or with a deviation that is no
// number, is nothing to learn from: it scores as a failure.
bool counts(const Trial& trial) {
  return trial.outcome == Outcome::ok && trial.time_us > 0 && std::isfinite(trial.time_us) &&
         std::isfinite(trial.max_bound_ratio) && std::isfinite(trial.max_abs_error);
}

double speed_ratio(const Trial& trial) {
  const double speedup = trial.speedup();
  return speedup > 0 && std::isfinite(speedup) ? speedup : 1;
}

// "Closer than the noise is equal". Rounding is transitive where a test of pairs is not.
double round_toward_zero(double value, double step) {
  if (!(step > 0)) return value;
  // 0.29 / 0.01 is just below 29 in binary: a value that is a multiple of the step must stay.
  constexpr double kTolerance = 1e-9;
  return std::trunc(value / step + std::copysign(kTolerance, value)) * step;
}

}  // namespace

int program_length(const Trial& trial) {
  return static_cast<int>(words(trial.program).size());
}

double score(const Trial& trial, double length_ref, const RewardOptions& options) {
  if (!counts(trial)) return options.floor;
  const double speed = round_toward_zero(std::log(speed_ratio(trial)), options.noise_step);
  const double deviation = trial.max_bound_ratio;  // dev / bound: both were known to the proof
  const double length = program_length(trial) / length_ref - 1;
  return speed - options.alpha * deviation - options.beta * length;
}

double score_eq3(const Trial& trial, const RewardOptions& options) {
  if (!counts(trial)) return options.floor;
  return speed_ratio(trial) - options.alpha * trial.max_abs_error -
         options.beta * program_length(trial);
}

Smoothing fit_smoothing(std::span<const double> ok_scores, const RewardOptions& options) {
  if (ok_scores.empty()) return {};
  const auto count = static_cast<double>(ok_scores.size());
  double sum = 0;
  for (const double value : ok_scores) sum += value;
  const double mean = sum / count;
  double squares = 0;
  for (const double value : ok_scores) squares += (value - mean) * (value - mean);
  return {.mean = mean, .sigma = std::max(std::sqrt(squares / count), options.noise_step)};
}

double smooth(double score, bool ok, const Smoothing& smoothing, const RewardOptions& options) {
  if (!ok) return std::min(options.floor, options.clip_low);
  return std::clamp((score - smoothing.mean) / smoothing.sigma, options.clip_low,
                    options.clip_high);
}

}  // namespace tilewright
