// SPDX-License-Identifier: Apache-2.0
// The objective's parts by hand.
#include "learn/objective.h"

#include "base/rng.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace tilewright {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

TEST(Objective, MaskedSoftmaxIsOverTheLegalAlone) {
  const std::vector<double> logits = {1000, 1, 2, -1000, 3};
  const std::vector<int> legal = {1, 2, 4};
  const auto log_p = masked_log_softmax(logits, legal, 0.5);
  const double sum = std::exp(2.0) + std::exp(4.0) + std::exp(6.0);
  EXPECT_THAT(
      log_p, ElementsAre(DoubleNear(2 - std::log(sum), 1e-12), DoubleNear(4 - std::log(sum), 1e-12),
                         DoubleNear(6 - std::log(sum), 1e-12)));
  EXPECT_THAT(masked_log_softmax(logits, std::vector<int>{3}, 1), ElementsAre(0));
  EXPECT_DOUBLE_EQ(entropy_of(std::vector<double>(4, std::log(0.25))), std::log(4.0));
  EXPECT_DOUBLE_EQ(entropy_of(std::vector<double>{0}), 0);
}

TEST(Objective, AdvantagesAddUpToZero) {
  Rng rng(1);
  for (int i = 0; i < 200; ++i) {
    std::vector<double> rewards(2 + rng.below(15));
    for (double& r : rewards) r = rng.normal();
    for (const auto kind : {AdvantageKind::leave_one_out, AdvantageKind::group}) {
      const auto a = advantages(rewards, kind);
      EXPECT_NEAR(std::accumulate(a.begin(), a.end(), 0.0), 0, 1e-9);
    }
    const auto a = advantages(rewards, AdvantageKind::leave_one_out);
    const double others = (std::accumulate(rewards.begin(), rewards.end(), 0.0) - rewards[0]) /
                          static_cast<double>(rewards.size() - 1);
    EXPECT_NEAR(a[0], rewards[0] - others, 1e-12);
  }
  EXPECT_THAT(advantages(std::vector<double>{1, 3}, AdvantageKind::group),
              ElementsAre(DoubleNear(-1, 1e-5), DoubleNear(1, 1e-5)));
  EXPECT_THAT(advantages(std::vector<double>{2}, AdvantageKind::leave_one_out), ElementsAre(0));
  EXPECT_TRUE(is_flat(std::vector<double>{1, 1, 1}));
  EXPECT_TRUE(is_flat(std::vector<double>{1}));
  EXPECT_FALSE(is_flat(std::vector<double>{1, 1.5}));
  EXPECT_EQ(advantage_kind("grpo"), AdvantageKind::group);
  EXPECT_FALSE(advantage_kind("ppo"));
}

TEST(Objective, K3IsNeverNegativeAndZeroOnlyWhereEqual) {
  Rng rng(2);
  EXPECT_EQ(k3(-1.5, -1.5), 0);
  for (int i = 0; i < 1000; ++i) {
    const double a = -5 * rng.uniform(), b = a + rng.normal() * std::pow(10.0, -rng.uniform() * 12);
    EXPECT_GE(k3(a, b), 0);
  }
  EXPECT_NEAR(k3(std::log(0.5), std::log(0.25)), 0.5 + std::log(2.0) - 1, 1e-12);
}

TEST(Objective, TheClipHoldsOnlyWhatGoesTooFar) {
  const Clip clip;
  EXPECT_DOUBLE_EQ(clipped_gain(1.5, 2, clip), 1.28 * 2);
  EXPECT_DOUBLE_EQ(clipped_gain(0.5, 2, clip), 0.5 * 2);
  EXPECT_DOUBLE_EQ(clipped_gain(0.5, -2, clip), 0.8 * -2);
  EXPECT_DOUBLE_EQ(clipped_gain(1.5, -2, clip), 1.5 * -2);
  EXPECT_DOUBLE_EQ(clipped_gain(1, 2, clip), 2);
}

TEST(Objective, JByHand) {
  const std::vector<ObjectivePlace> places = {{.log_probability = std::log(0.6),
                                               .old_log_probability = std::log(0.4),
                                               .reference_log_probability = std::log(0.6),
                                               .advantage = 1,
                                               .entropy = 0.5},
                                              {.log_probability = std::log(0.5),
                                               .old_log_probability = std::log(0.5),
                                               .reference_log_probability = std::log(0.25),
                                               .advantage = -1,
                                               .entropy = 0.7}};
  const ObjectiveValue value = objective(places, {}, 0.1, 0.01);
  EXPECT_NEAR(value.gain, (1.28 - 1) / 2, 1e-12);
  EXPECT_NEAR(value.kl, (0.5 + std::log(2.0) - 1) / 2, 1e-12);
  EXPECT_NEAR(value.entropy, 0.6, 1e-12);
  EXPECT_NEAR(value.clipped, 0.5, 1e-12);
  EXPECT_NEAR(value.ratio_high, 1.5, 1e-12);
  EXPECT_NEAR(value.objective, 0.14 - 0.1 * value.kl + 0.006, 1e-12);
  EXPECT_EQ(objective({}, {}, 1, 1).objective, 0);
}

TEST(Objective, TheEntropyFloorPushesBack) {
  EntropyControl control;
  control.observe(0.3);
  EXPECT_DOUBLE_EQ(control.weight, 0.01);
  control.observe(0.1);
  EXPECT_DOUBLE_EQ(control.weight, 0.02);
  control.observe(0.5);
  EXPECT_DOUBLE_EQ(control.weight, 0.01);
  for (int i = 0; i < 100; ++i) control.observe(0);
  EXPECT_DOUBLE_EQ(control.weight, control.most);
  for (int i = 0; i < 100; ++i) control.observe(5);
  EXPECT_DOUBLE_EQ(control.weight, control.least);
}

TEST(Objective, RewardsOfAGroup) {
  const auto trial = [](Outcome outcome, double time_us) {
    Trial t;
    t.program = "cpu isa=avx2";
    t.outcome = outcome;
    t.time_us = time_us;
    t.baselines["onednn"] = {
        .time_us = 100, .ratio_low = 1, .ratio = 100 / time_us, .ratio_high = 1};
    return t;
  };
  const std::vector<Trial> trials = {trial(Outcome::ok, 50), trial(Outcome::ok, 100),
                                     trial(Outcome::wrong, 10), trial(Outcome::ok, 0)};
  for (const bool eq3 : {false, true}) {
    RewardBasis basis;
    basis.eq3 = eq3;
    const auto rewards = group_rewards(trials, {}, basis);
    EXPECT_GT(rewards[0], rewards[1]);
    EXPECT_GT(rewards[1], rewards[2]);
    EXPECT_EQ(rewards[2], -1.5);
    EXPECT_EQ(rewards[3], -1.5) << "ok, but never timed";
  }
  // Of a shape whose known programs are all faster, even the best is below the mean.
  const auto late = group_rewards(trials, std::vector<double>{2, 2.2, 2.4}, {});
  EXPECT_LT(late[0], 0);
  EXPECT_GE(late[1], -1.4);
}

}  // namespace
}  // namespace tilewright
