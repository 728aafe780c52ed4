// SPDX-License-Identifier: Apache-2.0
// How good a model is on tables, before anything is measured: the expected reward of what it
// writes, with an interval over shapes.
#pragma once

#include "learn/model.h"
#include "train/plan.h"

#include <memory>
#include <span>
#include <vector>

namespace tilewright {

// A table's programs as a mask, and its scores as they become rewards.
class JudgedWorld {
 public:
  JudgedWorld(const ReplayWorld& world, const Device& device, const RewardBasis& basis);
  [[nodiscard]] const ReplayWorld& world() const { return *world_; }
  [[nodiscard]] const TokenMask& mask() const { return *mask_; }
  // Smoothed by all right cells of the table, so that models are compared on one scale.
  [[nodiscard]] double reward(const Program& program) const;
  // ln(oracle / time); of a failure that of the slowest right cell.
  [[nodiscard]] double log_quality(const Program& program) const;

 private:
  const ReplayWorld* world_;
  RewardBasis basis_;
  std::unique_ptr<TokenMask> mask_;
  Smoothing smoothing_;
  double worst_ = 0;
};

struct Assessment {
  double reward = 0;    // mean over samples
  double best16 = 0;    // expected ln quality of the best of 16 samples
  double entropy = 0;   // nats, mean over places where something was chosen
  double distinct = 0;  // share of different programs
};
// Of each world: `samples` texts without exemplars, asked for the best decile.
[[nodiscard]] Result<std::vector<Assessment>> assess(const LanguageModel& model,
                                                     std::span<const JudgedWorld> worlds,
                                                     const Device& device, std::size_t samples,
                                                     std::uint64_t seed);
// The same of uniform draws from the tables, exactly.
[[nodiscard]] std::vector<Assessment> assess_uniform(std::span<const JudgedWorld> worlds);

struct MeanInterval {
  double value = 0, low = 0, high = 0;  // 95 %, by a bootstrap over the values
};
[[nodiscard]] MeanInterval mean_interval(std::span<const double> values, std::uint64_t seed);
// Expected largest of `draws` values drawn with replacement.
[[nodiscard]] double expected_best(std::vector<double> values, int draws);

}  // namespace tilewright
