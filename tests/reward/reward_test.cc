// SPDX-License-Identifier: Apache-2.0
// Rewards against values worked by hand (tests/cases/reward.txt), and what must hold for all of
// them: faster is never worse, and no failure is better than any correct program.
#include "reward/reward.h"

#include "base/file.h"
#include "base/rng.h"
#include "base/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace tilewright {
namespace {

Trial timed(double reference_us, double time_us, double deviation = 0, int tokens = 10) {
  Trial trial;
  trial.outcome = Outcome::ok;
  trial.time_us = time_us;
  if (reference_us > 0) trial.baselines["onednn"] = {.time_us = reference_us};
  trial.max_bound_ratio = deviation;
  trial.program = "cpu";
  for (int i = 1; i < tokens; ++i) trial.program += " k=v";
  return trial;
}

TEST(reward, cases_by_hand) {
  const auto text = read_file(TILEWRIGHT_SOURCE_DIR "/tests/cases/reward.txt");
  ASSERT_TRUE(text);
  int cases = 0;
  for (const std::string_view line : split(*text, '\n')) {
    if (line.empty() || line[0] == '#') continue;
    const auto parts = split(line, '|');
    ASSERT_EQ(parts.size(), 3U) << line;
    std::vector<double> in;
    for (const auto word : words(parts[0])) in.push_back(std::stod(std::string(word)));
    ASSERT_EQ(in.size(), 4U) << line;
    const Trial trial = timed(in[0], in[1], in[2], static_cast<int>(in[3]));
    EXPECT_NEAR(score(trial, 10, {}), std::stod(std::string(trim(parts[1]))), 1e-12) << line;
    ++cases;
  }
  EXPECT_GE(cases, 15);
}

TEST(reward, length_is_in_tokens) {
  EXPECT_EQ(program_length(timed(1, 1, 0, 7)), 7);
  Trial outside;
  outside.program = "source:0123456789abcdef";
  EXPECT_EQ(program_length(outside), 1);
}

TEST(reward, takes_the_fastest_headline_baseline) {
  Trial trial = timed(20, 10);
  trial.baselines["openblas"] = {.time_us = 15};
  trial.baselines["openblas_ahead"] = {.time_us = 1, .headline = false};
  EXPECT_NEAR(score(trial, 10, {}), 0.40, 1e-12);  // ln 1.5 = 0.405
}

TEST(reward, step_of_zero_rounds_nothing) {
  EXPECT_NEAR(score(timed(20, 10), 10, {.noise_step = 0}), std::log(2), 1e-15);
  EXPECT_NEAR(score(timed(20, 10), 10, {.noise_step = 0.25}), 0.5, 1e-15);
}

TEST(reward, eq3_by_hand) {
  // mean(t_ref/t) - alpha*diff - beta*L, L in tokens: arXiv 2512.02551, Eq. 3.
  const RewardOptions options{.alpha = 0.1, .beta = 0.001};
  Trial trial = timed(30, 20, 0.9, 40);
  trial.max_abs_error = 0.5;
  EXPECT_NEAR(score_eq3(trial, options), 1.5 - 0.1 * 0.5 - 0.001 * 40, 1e-12);
  EXPECT_NEAR(score_eq3(timed(30, 30, 0, 1), options), 1 - 0.001, 1e-12);
  EXPECT_NEAR(score_eq3(timed(0, 30, 0, 1), options), 1 - 0.001, 1e-12);  // no baseline: level
}

TEST(reward, every_failure_scores_the_floor) {
  for (std::size_t i = 0; i < kOutcomeNames.size(); ++i) {
    Trial trial = timed(20, 10);
    trial.outcome = static_cast<Outcome>(i);
    const bool ok = trial.outcome == Outcome::ok;
    EXPECT_EQ(score(trial, 10, {}) == -1.5, !ok) << kOutcomeNames[i];
    EXPECT_EQ(score_eq3(trial, {}) == -1.5, !ok) << kOutcomeNames[i];
  }
}

TEST(reward, numbers_that_mean_nothing_score_the_floor) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double time : {0.0, -1.0, kNaN, kInfinity}) {
    EXPECT_EQ(score(timed(20, time), 10, {}), -1.5) << time;
    EXPECT_EQ(score_eq3(timed(20, time), {}), -1.5) << time;
  }
  for (const double deviation : {kNaN, kInfinity}) {
    EXPECT_EQ(score(timed(20, 10, deviation), 10, {}), -1.5) << deviation;
  }
}

TEST(smoothing, by_hand) {
  const std::vector<double> scores = {1, 2, 3, 4};
  const Smoothing s = fit_smoothing(scores, {});
  EXPECT_DOUBLE_EQ(s.mean, 2.5);
  EXPECT_DOUBLE_EQ(s.sigma, std::sqrt(1.25));
  EXPECT_NEAR(smooth(3, true, s, {}), 0.5 / std::sqrt(1.25), 1e-12);
  EXPECT_EQ(smooth(100, true, s, {}), 1.5);
  EXPECT_EQ(smooth(-100, true, s, {}), -1.4);
  EXPECT_EQ(smooth(100, false, s, {}), -1.5);
}

TEST(smoothing, sigma_is_at_least_the_step) {
  const std::vector<double> equal = {0.3, 0.3, 0.3};
  EXPECT_DOUBLE_EQ(fit_smoothing(equal, {}).sigma, 0.01);
  EXPECT_DOUBLE_EQ(fit_smoothing(equal, {}).mean, 0.3);
  const std::vector<double> one = {-2};
  EXPECT_DOUBLE_EQ(fit_smoothing(one, {.noise_step = 0.5}).sigma, 0.5);
  const Smoothing none = fit_smoothing({}, {});
  EXPECT_EQ(none.mean, 0);
  EXPECT_EQ(none.sigma, 1);
}

RewardOptions some_options(Rng& rng) {
  return {.alpha = rng.uniform(), .beta = rng.uniform(), .noise_step = 0.001 + rng.uniform() / 10};
}

TEST(reward_properties, faster_is_never_worse) {
  Rng rng(3);
  for (int i = 0; i < 20000; ++i) {
    const RewardOptions options = some_options(rng);
    const double reference = 1 + 100 * rng.uniform(), time = 1 + 100 * rng.uniform();
    const double faster = time * (1 - rng.uniform() * (i % 2 == 0 ? 0.01 : 0.9));
    const double deviation = rng.uniform();
    const int tokens = 1 + static_cast<int>(rng.below(30));
    ASSERT_GE(score(timed(reference, faster, deviation, tokens), 10, options),
              score(timed(reference, time, deviation, tokens), 10, options));
    ASSERT_GE(score_eq3(timed(reference, faster, deviation, tokens), options),
              score_eq3(timed(reference, time, deviation, tokens), options));
  }
}

TEST(reward_properties, deviation_and_length_only_cost) {
  Rng rng(4);
  for (int i = 0; i < 5000; ++i) {
    const RewardOptions options = some_options(rng);
    const double time = 1 + 100 * rng.uniform(), deviation = rng.uniform();
    const int tokens = 1 + static_cast<int>(rng.below(30));
    const double base = score(timed(50, time, deviation, tokens), 10, options);
    ASSERT_LE(score(timed(50, time, deviation + rng.uniform(), tokens), 10, options), base);
    ASSERT_LE(score(timed(50, time, deviation, tokens + 3), 10, options), base);
  }
}

TEST(reward_properties, rounding_is_odd_and_never_flatters) {
  Rng rng(5);
  const RewardOptions only_speed{.alpha = 0, .beta = 0, .noise_step = 0.013};
  for (int i = 0; i < 5000; ++i) {
    const double time = 1 + 100 * rng.uniform();
    const double speed = std::log(50 / time);
    const double u = score(timed(50, time), 10, only_speed);
    ASSERT_NEAR(u, -score(timed(time, 50), 10, only_speed), 1e-12);
    ASSERT_LE(std::abs(u), std::abs(speed) + 1e-8);
    ASSERT_LT(std::abs(speed) - std::abs(u), 0.013);
    ASSERT_NEAR(std::remainder(u, 0.013), 0, 1e-9);
  }
}

TEST(reward_properties, no_failure_is_better_than_any_correct_program) {
  Rng rng(6);
  for (int i = 0; i < 2000; ++i) {
    RewardOptions options = some_options(rng);
    if (i % 3 == 0) options.clip_low = -3 * rng.uniform();  // a caller's choice, below the floor
    std::vector<double> scores;
    for (auto n = rng.below(20); n > 0; --n) {
      scores.push_back(
          score(timed(50, std::exp(10 * rng.uniform() - 3), rng.uniform()), 10, options));
    }
    const Smoothing smoothing = fit_smoothing(scores, options);
    const double slow =
        score(timed(1, 1e9, 1, 1000), 10, options);  // a billion times slower, and long
    scores.push_back(slow);
    const Trial failed;
    for (const double u : scores) {
      const double r = smooth(u, true, smoothing, options);
      ASSERT_LE(smooth(score(failed, 10, options), false, smoothing, options), r);
      ASSERT_LE(r, options.clip_high);
    }
    // With the default clip it is strictly worse.
    ASSERT_LT(smooth(0, false, smoothing, {}), smooth(slow, true, smoothing, {}));
  }
}

TEST(reward_properties, smoothing_keeps_the_order) {
  Rng rng(7);
  for (int i = 0; i < 5000; ++i) {
    const Smoothing smoothing{.mean = rng.normal(), .sigma = 0.01 + rng.uniform()};
    const double a = rng.normal(), b = rng.normal();
    ASSERT_LE(smooth(std::min(a, b), true, smoothing, {}),
              smooth(std::max(a, b), true, smoothing, {}));
  }
}

}  // namespace
}  // namespace tilewright
