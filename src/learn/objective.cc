// SPDX-License-Identifier: Apache-2.0
// See objective.h: each function is a line of section 9.
#include "learn/objective.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

namespace tilewright {
namespace {

constexpr double kSmallDeviation = 1e-6;
// Rewards that differ by less are equal: they went through a division by a deviation.
constexpr double kEqual = 1e-9;

// As reward/reward.cc: an ok trial without numbers is nothing to learn from, and scores as a
// failure.
bool is_success(const Trial& trial) {
  return trial.outcome == Outcome::ok && trial.time_us > 0 && std::isfinite(trial.time_us) &&
         std::isfinite(trial.max_bound_ratio) && std::isfinite(trial.max_abs_error);
}

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

std::vector<double> masked_log_softmax(std::span<const double> logits, std::span<const int> legal,
                                       double temperature) {
  std::vector<double> out;
  double most = -std::numeric_limits<double>::infinity();
  for (const int token : legal) {
    out.push_back(logits[static_cast<std::size_t>(token)] / temperature);
    most = std::max(most, out.back());
  }
  double sum = 0;
  for (const double value : out) sum += std::exp(value - most);
  const double log_sum = most + std::log(sum);
  for (double& value : out) value -= log_sum;
  return out;
}

double entropy_of(std::span<const double> log_probabilities) {
  double entropy = 0;
  for (const double value : log_probabilities) entropy -= std::exp(value) * value;
  return entropy;
}

double raw_score(const Trial& trial, const RewardBasis& basis) {
  return basis.eq3 ? score_eq3(trial, basis.options)
                   : score(trial, basis.length_ref, basis.options);
}

std::vector<double> group_rewards(std::span<const Trial> trials,
                                  std::span<const double> known_ok_scores,
                                  const RewardBasis& basis) {
  std::vector<double> scores, own;
  for (const Trial& trial : trials) {
    scores.push_back(raw_score(trial, basis));
    if (is_success(trial)) own.push_back(scores.back());
  }
  const Smoothing smoothing = fit_smoothing(
      known_ok_scores.empty() ? std::span<const double>(own) : known_ok_scores, basis.options);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    scores[i] = smooth(scores[i], is_success(trials[i]), smoothing, basis.options);
  }
  return scores;
}

std::optional<AdvantageKind> advantage_kind(std::string_view name) {
  if (name == "loo") return AdvantageKind::leave_one_out;
  if (name == "grpo") return AdvantageKind::group;
  return std::nullopt;
}

std::vector<double> advantages(std::span<const double> rewards, AdvantageKind kind) {
  std::vector<double> out(rewards.size(), 0);
  if (rewards.size() < 2) return out;
  const auto count = static_cast<double>(rewards.size());
  const double mean = mean_of(rewards);
  double squares = 0;
  for (const double reward : rewards) squares += (reward - mean) * (reward - mean);
  // r_i - mean of the others = (r_i - mean) * G / (G - 1).
  const double scale = kind == AdvantageKind::leave_one_out
                           ? count / (count - 1)
                           : 1 / (std::sqrt(squares / count) + kSmallDeviation);
  for (std::size_t i = 0; i < rewards.size(); ++i) out[i] = (rewards[i] - mean) * scale;
  return out;
}

bool is_flat(std::span<const double> rewards) {
  if (rewards.size() < 2) return true;
  const auto [least, most] = std::ranges::minmax(rewards);
  return most - least <= kEqual;
}

double clipped_gain(double ratio, double advantage, const Clip& clip) {
  return std::min(ratio * advantage, std::clamp(ratio, clip.low, clip.high) * advantage);
}

double k3(double log_probability, double reference_log_probability) {
  const double difference = reference_log_probability - log_probability;
  return std::max(std::expm1(difference) - difference, 0.0);  // rounding may fall below
}

ObjectiveValue objective(std::span<const ObjectivePlace> places, const Clip& clip, double kl_weight,
                         double entropy_weight) {
  ObjectiveValue value;
  if (places.empty()) return value;
  value.ratio_low = std::numeric_limits<double>::infinity();
  value.ratio_high = 0;
  for (const ObjectivePlace& place : places) {
    const double ratio = std::exp(place.log_probability - place.old_log_probability);
    const double gain = clipped_gain(ratio, place.advantage, clip);
    value.gain += gain;
    value.kl += k3(place.log_probability, place.reference_log_probability);
    value.entropy += place.entropy;
    if (gain < ratio * place.advantage) value.clipped += 1;
    value.ratio_low = std::min(value.ratio_low, ratio);
    value.ratio_high = std::max(value.ratio_high, ratio);
  }
  const auto count = static_cast<double>(places.size());
  for (double* sum : {&value.gain, &value.kl, &value.entropy, &value.clipped}) *sum /= count;
  value.objective = value.gain - kl_weight * value.kl + entropy_weight * value.entropy;
  return value;
}

void EntropyControl::observe(double entropy) {
  if (entropy < floor) weight = std::min(weight * 2, most);
  if (entropy > ceiling) weight = std::max(weight / 2, least);
}

}  // namespace tilewright
