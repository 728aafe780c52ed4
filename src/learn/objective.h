// SPDX-License-Identifier: Apache-2.0
// The objective of reinforcement (section 9 of the policy's design) as pure functions of numbers:
//
//   J = (1/n) sum_i sum_t [ min(rho A, clip(rho, 0.8, 1.28) A) - beta_KL k3 ] + c_H H
//
// with n the places where at least two tokens were legal. These are the plain versions: what the
// trainer computes with tensors (learn/torch/) is compared with them. Rewards come from
// reward/reward.h; all probabilities are after temperature, mask and renormalisation - a ratio of
// unmasked ones is wrong.
#pragma once

#include "reward/reward.h"

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace tilewright {

// ln probabilities of the legal tokens, in their order: a softmax of logits / temperature over
// them alone. `logits` has one number for each word.
[[nodiscard]] std::vector<double> masked_log_softmax(std::span<const double> logits,
                                                     std::span<const int> legal,
                                                     double temperature);
[[nodiscard]] double entropy_of(std::span<const double> log_probabilities);

// How trials of one shape become rewards: scores of `known` ok trials (frozen during an iteration)
// give mean and deviation; without any, those of the group itself do.
struct RewardBasis {
  double length_ref = 17;  // tokens of a usual program: the median of the archive
  bool eq3 = false;        // the paper's Eq. 3 instead, then smoothed alike
  RewardOptions options{};
};
[[nodiscard]] std::vector<double> group_rewards(std::span<const Trial> trials,
                                                std::span<const double> known_ok_scores,
                                                const RewardBasis& basis);
// Before smoothing: what `known_ok_scores` holds of earlier trials.
[[nodiscard]] double raw_score(const Trial& trial, const RewardBasis& basis);

enum class AdvantageKind { leave_one_out, group };
[[nodiscard]] std::optional<AdvantageKind> advantage_kind(std::string_view name);  // loo | grpo
// leave_one_out: r_i - mean of the others. group: (r_i - mean) / (std + 1e-6), std of the
// population. Both add up to 0; one sample has advantage 0.
[[nodiscard]] std::vector<double> advantages(std::span<const double> rewards, AdvantageKind kind);
// Nothing to learn: all rewards are equal (or there is one).
[[nodiscard]] bool is_flat(std::span<const double> rewards);

struct Clip {
  double low = 0.8, high = 1.28;
};
[[nodiscard]] double clipped_gain(double ratio, double advantage, const Clip& clip);
// pi_ref/pi - ln(pi_ref/pi) - 1, from the two logarithms. Never negative.
[[nodiscard]] double k3(double log_probability, double reference_log_probability);

// One place of a text with at least two legal tokens.
struct ObjectivePlace {
  double log_probability = 0, old_log_probability = 0, reference_log_probability = 0;
  double advantage = 0, entropy = 0;
};
struct ObjectiveValue {
  double objective = 0;  // J
  double gain = 0, kl = 0, entropy = 0;
  double clipped = 0;  // share of places where the clip holds the gradient back
  double ratio_low = 1, ratio_high = 1;
};
[[nodiscard]] ObjectiveValue objective(std::span<const ObjectivePlace> places, const Clip& clip,
                                       double kl_weight, double entropy_weight);

// The weight c_H of the entropy: doubled while the entropy is below the floor, halved above the
// ceiling, within limits.
struct EntropyControl {
  double weight = 0.01;
  double floor = 0.2, ceiling = 0.4;
  double least = 1e-4, most = 0.32;
  void observe(double entropy);
};

}  // namespace tilewright
