// SPDX-License-Identifier: Apache-2.0
// The decisions of measuring, argued with invented samples: what is planned, which rounds are
// believed, what follows from them.
#include "measure/rounds.h"

#include "base/rng.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace tilewright {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::vector<std::string> kTwo = {"onednn", "openblas"};

// `count` rounds in which slot i takes seconds[i] give or take `noise`, on a quiet machine.
std::vector<Round> quiet_rounds(const std::vector<double>& seconds, int count, double noise = 0,
                                std::uint64_t seed = 1) {
  Rng rng(seed);
  std::vector<Round> rounds;
  for (int i = 0; i < count; ++i) {
    Round round;
    const double drift = 1 + 0.1 * rng.normal() * (noise > 0 ? 1 : 0);  // common to the round
    for (const double s : seconds) {
      BurstResult burst;
      burst.seconds = s * std::abs(drift) * (1 + noise * rng.normal());
      burst.counted = 0.018;
      burst.claimed = 0.02;
      burst.wall = 0.0202;
      burst.switches = 1;
      round.push_back(burst);
    }
    rounds.push_back(round);
  }
  return rounds;
}

TEST(Slots, TheCandidateFirstAndItsSelfPairLast) {
  const auto slots = slots_for(kTwo, true);
  ASSERT_EQ(slots.size(), 4U);
  EXPECT_EQ(slots[0].contestant, "candidate");
  EXPECT_EQ(slots[1].contestant, "onednn");
  EXPECT_EQ(slots[2].column, 2);
  EXPECT_EQ(slots[3].contestant, "candidate");
  EXPECT_TRUE(slots[3].self);
  EXPECT_EQ(slots_for({}, false).size(), 1U);
}

TEST(Calls, FillABurstWithinBounds) {
  MeasureOptions options;
  options.burst_seconds = 0.02;
  options.max_calls = 64;
  EXPECT_EQ(calls_for(0.001, options), 20);
  EXPECT_EQ(calls_for(0.0006, options), 33);
  EXPECT_EQ(calls_for(10, options), 1);
  EXPECT_EQ(calls_for(1e-9, options), 64);
  EXPECT_EQ(calls_for(0, options), 64);
  options.mode = Mode::server;
  options.gap_mean_us = 1000;
  EXPECT_EQ(calls_for(0.001, options), 10);  // gaps take half of the time
}

// Whoever comes first in a round meets another machine than who comes last, and so does whoever
// follows a hungry one: every slot has every place equally often, and every predecessor.
TEST(Plan, EverySlotHasEveryPlaceAndEveryPredecessorEquallyOften) {
  for (const bool self : {true, false}) {
    for (const std::vector<std::string>& baselines :
         {std::vector<std::string>{}, {"a"}, {"a", "b"}, {"a", "b", "c"}, {"a", "b", "c", "d"}}) {
      const auto slots = slots_for(baselines, self);
      const auto count = slots.size();
      const std::vector<int> calls(count, 3);
      std::map<std::pair<int, std::size_t>, int> places;
      std::map<std::pair<int, int>, int> pairs;
      const std::size_t turns = count % 2 == 0 ? 1 : 2;
      int next_set = 0;
      for (std::size_t round = 0; round < turns * count; ++round) {
        const auto plan = plan_round(slots, calls, static_cast<int>(round), 4, next_set, {});
        ASSERT_EQ(plan.size(), count);
        for (std::size_t i = 0; i < count; ++i) {
          EXPECT_TRUE(plan[i].counts);
          EXPECT_EQ(plan[i].burst.calls, 3);
          EXPECT_FALSE(plan[i].burst.each);
          ++places[{plan[i].slot, i}];
          if (i > 0) ++pairs[{plan[i - 1].slot, plan[i].slot}];
        }
      }
      EXPECT_EQ(places.size(), count * count);
      for (const auto& [place, often] : places) EXPECT_EQ(often, static_cast<int>(turns));
      EXPECT_EQ(pairs.size(), count * (count - 1));
      for (const auto& [pair, often] : pairs) {
        EXPECT_NE(pair.first, pair.second);
        EXPECT_EQ(often, static_cast<int>(turns)) << count << " slots";
      }
    }
  }
}

TEST(Plan, AMirroredRoundGoesThereAndBackBehindABurstThatDoesNotCount) {
  const auto slots = slots_for(kTwo, true);
  MeasureOptions options;
  int next_set = 0;
  for (int round = 0; round < 8; ++round) {
    options.mirrored = false;
    const auto plain = plan_round(slots, {1, 2, 3, 1}, round, 4, next_set, options);
    options.mirrored = true;
    const auto plan = plan_round(slots, {1, 2, 3, 1}, round, 4, next_set, options);
    ASSERT_EQ(plan.size(), 9U);
    EXPECT_FALSE(plan[0].counts);
    EXPECT_NE(plan[0].slot, plan[1].slot);
    for (std::size_t i = 0; i < plain.size(); ++i) {
      EXPECT_EQ(plan[1 + i].slot, plain[i].slot);
      EXPECT_EQ(plan[8 - i].slot, plain[i].slot);
      EXPECT_TRUE(plan[1 + i].counts && plan[8 - i].counts);
    }
  }
}

TEST(Plan, DependsOnTheSeedAlone) {
  const auto slots = slots_for(kTwo, true);
  const auto orders = [&](std::uint64_t seed) {
    MeasureOptions options;
    options.seed = seed;
    std::vector<int> all;
    int next_set = 0;
    for (int round = 0; round < 6; ++round) {
      for (const auto& p : plan_round(slots, {1, 1, 1, 1}, round, 4, next_set, options)) {
        all.push_back(p.slot);
      }
    }
    return all;
  };
  EXPECT_EQ(orders(1), orders(1));
  EXPECT_NE(orders(1), orders(2));
}

// What one contestant has just used lies in the cache: the next one starts behind it.
TEST(Plan, BurstsFollowOneAnotherThroughTheSets) {
  const auto slots = slots_for(kTwo, true);
  int next_set = 0, expected = 0;
  MeasureOptions options;
  options.mode = Mode::cold;
  for (int round = 0; round < 5; ++round) {
    for (const auto& p : plan_round(slots, {3, 5, 7, 3}, round, 11, next_set, options)) {
      EXPECT_EQ(p.burst.first_set, expected);
      expected = (expected + p.burst.calls) % 11;
    }
  }
}

TEST(Plan, BurstsOfGraphsTurnWholeRounds) {
  MeasureOptions options;
  options.max_calls = 1024;
  EXPECT_EQ(whole_turns(250, 32, options), 250) << "a host's clock: there are no graphs";
  options.device_clock = true;
  EXPECT_EQ(whole_turns(250, 32, options), 256);
  EXPECT_EQ(whole_turns(255, 11, options), 253);
  EXPECT_EQ(whole_turns(1024, 11, options), 1023) << "never above the most";
  EXPECT_EQ(whole_turns(7, 11, options), 7) << "fewer than sets";
  EXPECT_EQ(whole_turns(7, 1, options), 7);
  options.mode = Mode::server;
  EXPECT_EQ(whole_turns(41, 32, options), 41);
}

TEST(Plan, ServerModeAsksForEachCallWithEqualArrivals) {
  MeasureOptions options;
  options.mode = Mode::server;
  int next_set = 0;
  const auto slots = slots_for(kTwo, true);
  const auto plan = plan_round(slots, {4, 4, 4, 4}, 0, 2, next_set, options);
  for (const PlannedBurst& p : plan) {
    EXPECT_TRUE(p.burst.each);
    EXPECT_EQ(p.burst.gap_mean_us, options.gap_mean_us);
    EXPECT_EQ(p.burst.gap_seed, plan[0].burst.gap_seed);
  }
  const auto next = plan_round(slots, {4, 4, 4, 4}, 1, 2, next_set, options);
  EXPECT_NE(next[0].burst.gap_seed, plan[0].burst.gap_seed);
}

TEST(Reduce, OneBurstOrTheMedianOfSingleCalls) {
  TimingReply reply;
  reply.wall_seconds = 1;
  reply.claimed_seconds = 0.9;
  reply.samples = {{"x", 0, 0.004, 5, 2}};
  EXPECT_DOUBLE_EQ(reduce(reply).seconds, 0.004);
  EXPECT_EQ(reduce(reply).switches, 2);
  EXPECT_DOUBLE_EQ(reduce(reply).counted, 0.02);
  reply.samples = {{"x", 0, 3, 1, 4}, {"x", 0, 100, 1, 4}, {"x", 0, 2, 1, 4}};
  EXPECT_DOUBLE_EQ(reduce(reply).seconds, 3);
  EXPECT_EQ(reduce(reply).switches, 4);  // each carries those of the whole burst
  reply.samples.clear();
  EXPECT_EQ(reduce(reply).seconds, 0);
}

TEST(Contamination, AQuietMachineIsBelieved) {
  const auto slots = slots_for(kTwo, true);
  EXPECT_THAT(contaminations(slots, quiet_rounds({1e-3, 2e-3, 3e-3, 1e-3}, 9, 0.01)),
              Each(IsEmpty()));
}

TEST(Contamination, ABusyNeighbourInOneBurstRejectsThatRoundOnly) {
  const auto slots = slots_for(kTwo, true);
  for (std::size_t slot = 0; slot < slots.size(); ++slot) {
    auto rounds = quiet_rounds({1e-3, 2e-3, 3e-3, 1e-3}, 7);
    rounds[4][slot].switches = 30;
    const auto reasons = contaminations(slots, rounds);
    for (std::size_t i = 0; i < rounds.size(); ++i) EXPECT_EQ(reasons[i].empty(), i != 4) << i;
    EXPECT_THAT(reasons[4], HasSubstr(slots[slot].contestant));
    EXPECT_THAT(reasons[4], HasSubstr("30 involuntary"));
  }
}

// A library whose threads yield to each other switches in every burst: usual for it, no fault.
TEST(Contamination, WhatIsUsualForAContestantIsNoFault) {
  const auto slots = slots_for(kTwo, true);
  auto rounds = quiet_rounds({1e-3, 2e-3, 3e-3, 1e-3}, 7);
  for (Round& round : rounds) round[2].switches = 40;
  EXPECT_THAT(contaminations(slots, rounds), Each(IsEmpty()));
  rounds[1][2].switches = 200;
  EXPECT_FALSE(contaminations(slots, rounds)[1].empty());
}

// A machine that is busy all the time is busy, however usual that is.
TEST(Contamination, ACandidateThatIsAlwaysInterruptedIsNeverBelieved) {
  const auto slots = slots_for(kTwo, true);
  auto rounds = quiet_rounds({1e-3, 2e-3, 3e-3, 1e-3}, 9);
  for (Round& round : rounds) {
    for (BurstResult& burst : round) burst.switches = 40;
  }
  EXPECT_EQ(conclude(slots, rounds, {}).finding.rule, "contaminated");
}

TEST(Contamination, TimeThatNobodyClaimsRejectsTheRound) {
  const auto slots = slots_for(kTwo, true);
  auto rounds = quiet_rounds({1e-3, 2e-3, 3e-3, 1e-3}, 7);
  rounds[0][1].wall = 0.05;
  const auto reasons = contaminations(slots, rounds);
  EXPECT_THAT(reasons[0], HasSubstr("50.0 ms by our clock, 20.0 by the runner's"));
  EXPECT_TRUE(reasons[1].empty());
}

// What the host does beside a device that times itself is no reason to doubt the time.
TEST(Contamination, ADevicesClockIsNotDisturbedByTheHost) {
  const auto slots = slots_for(kTwo, true);
  auto rounds = quiet_rounds({1e-3, 2e-3, 3e-3, 1e-3}, 7);
  rounds[0][1].wall = 0.05;
  rounds[2][0].switches = 400;
  EXPECT_THAT(contaminations(slots, rounds, true), Each(IsEmpty()));
  rounds[3][3].seconds *= 2;  // the candidate unlike itself is one still
  EXPECT_FALSE(contaminations(slots, rounds, true)[3].empty());
  MeasureOptions options;
  options.device_clock = true;
  for (Round& round : rounds) round[0].wall += 0.02;
  EXPECT_TRUE(conclude(slots, rounds, options).finding.ok());
}

TEST(Contamination, ACandidateUnlikeItselfRejectsTheRound) {
  const auto slots = slots_for(kTwo, true);
  auto rounds = quiet_rounds({1e-3, 2e-3, 3e-3, 1e-3}, 7);
  rounds[2][3].seconds = 1.4e-3;
  rounds[3][3].seconds = 0.7e-3;
  rounds[4][3].seconds = 1.1e-3;  // ordinary noise
  const auto reasons = contaminations(slots, rounds);
  EXPECT_THAT(reasons[2], HasSubstr("against itself"));
  EXPECT_THAT(reasons[3], HasSubstr("against itself"));
  EXPECT_TRUE(reasons[4].empty());
}

TEST(Clock, AnHonestOneAgrees) {
  const auto slots = slots_for(kTwo, true);
  EXPECT_TRUE(check_clock(slots, quiet_rounds({1e-3, 2e-3, 3e-3, 1e-3}, 7)).ok());
  // A loaded machine delays every request alike.
  auto rounds = quiet_rounds({1e-5, 2e-5, 3e-5, 1e-5}, 7);
  for (Round& round : rounds) {
    for (BurstResult& burst : round) burst.counted = burst.claimed = 0.0006, burst.wall = 0.006;
  }
  EXPECT_TRUE(check_clock(slots, rounds).ok());
}

TEST(Clock, ACandidateThatClaimsATenthIsFoundWithAndWithoutBaselines) {
  for (const auto& baselines : {kTwo, std::vector<std::string>{}}) {
    const auto slots = slots_for(baselines, true);
    auto rounds = quiet_rounds(std::vector<double>(slots.size(), 1e-3), 7);
    for (Round& round : rounds) {
      round.front().counted = round.back().counted = 0.0018;
      round.front().claimed = round.back().claimed = 0.0038;  // the pause is true
      round.front().seconds = round.back().seconds = 1e-4;
    }
    const Finding finding = check_clock(slots, rounds);
    EXPECT_EQ(finding.outcome, Outcome::noisy);
    EXPECT_EQ(finding.rule, "clock");
    const Timing timing = conclude(slots, rounds, {});
    EXPECT_EQ(timing.finding.rule, "clock");
    for (std::size_t i = 1; i < timing.columns.size(); ++i) {
      EXPECT_EQ(timing.columns[i].comparison, Comparison::ambiguous);  // never a win
    }
  }
}

TEST(Conclude, KnownRatiosComeBack) {
  const auto slots = slots_for(kTwo, true);
  const Timing timing = conclude(slots, quiet_rounds({1e-3, 2e-3, 5e-4, 1e-3}, 7), {});
  ASSERT_TRUE(timing.finding.ok()) << timing.finding.detail;
  ASSERT_EQ(timing.columns.size(), 3U);  // the self pair is no column
  EXPECT_DOUBLE_EQ(timing.columns[0].ratio.mid, 1);
  EXPECT_EQ(timing.columns[0].comparison, Comparison::same);
  EXPECT_DOUBLE_EQ(timing.columns[1].ratio.mid, 2);
  EXPECT_EQ(timing.columns[1].comparison, Comparison::faster);
  EXPECT_DOUBLE_EQ(timing.columns[2].ratio.high, 0.5);
  EXPECT_EQ(timing.columns[2].comparison, Comparison::slower);
  EXPECT_DOUBLE_EQ(timing.columns[1].median_us, 2000);
  EXPECT_EQ(timing.columns[1].round_us.size(), 7U);
  EXPECT_EQ(timing.columns[1].spread, 0);
  EXPECT_DOUBLE_EQ(timing.noise, 0.01);
}

// Clocks that drift by a tenth between rounds move every contestant alike: pairing removes that.
TEST(Conclude, PairingRemovesDrift) {
  const auto slots = slots_for(kTwo, true);
  MeasureOptions options;
  options.rounds = 15;
  const auto rounds = quiet_rounds({1e-3, 1.1e-3, 0.9e-3, 1e-3}, 15, 0.003, 4);
  const Timing timing = conclude(slots, rounds, options);
  EXPECT_GT(timing.columns[0].spread, 0.03);  // unpaired times are worse than 3 %
  EXPECT_EQ(timing.columns[1].comparison, Comparison::faster);
  EXPECT_EQ(timing.columns[2].comparison, Comparison::slower);
  EXPECT_NEAR(timing.columns[1].ratio.mid, 1.1, 0.01);
}

TEST(Conclude, ATieIsNeverAWin) {
  const auto slots = slots_for({"openblas"}, true);
  int wins = 0, same = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Timing timing = conclude(slots, quiet_rounds({1e-3, 1e-3, 1e-3}, 9, 0.004, seed), {});
    wins += timing.columns[1].comparison == Comparison::faster ? 1 : 0;
    same += timing.columns[1].comparison == Comparison::same ? 1 : 0;
  }
  EXPECT_EQ(wins, 0);
  EXPECT_GT(same, 150);
}

// On a machine whose own noise is 8 %, a difference of 4 % is not one.
TEST(Conclude, TheSelfPairSetsTheBand) {
  const auto slots = slots_for({"openblas"}, true);
  auto rounds = quiet_rounds({1e-3, 1.04e-3, 1e-3}, 7);
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    rounds[i][2].seconds *= i % 2 == 0 ? 1.08 : 1 / 1.08;
  }
  const Timing timing = conclude(slots, rounds, {});
  EXPECT_NEAR(timing.noise, 0.08, 1e-9);
  EXPECT_NE(timing.columns[1].comparison, Comparison::faster);
  const Timing without =
      conclude(slots_for({"openblas"}, false), quiet_rounds({1e-3, 1.04e-3}, 7), {});
  EXPECT_EQ(without.columns[1].comparison, Comparison::faster);
}

TEST(Conclude, RejectedRoundsAreCountedAndLeftOut) {
  const auto slots = slots_for(kTwo, true);
  auto rounds = quiet_rounds({1e-3, 2e-3, 3e-3, 1e-3}, 9);
  rounds[3][0].switches = 50;
  rounds[3][0].seconds = 9e-3;
  rounds[5][2].wall = 0.1;
  const Timing timing = conclude(slots, rounds, {});
  ASSERT_TRUE(timing.finding.ok());
  EXPECT_EQ(timing.rejected_rounds, 2);
  EXPECT_EQ(timing.columns[0].round_us.size(), 7U);
  EXPECT_DOUBLE_EQ(*std::ranges::max_element(timing.columns[0].round_us), 1000);
}

TEST(Conclude, TooManyRejectedIsNoisyWithTheReason) {
  const auto slots = slots_for(kTwo, true);
  auto rounds = quiet_rounds({1e-3, 2e-3, 3e-3, 1e-3}, 8);
  for (std::size_t i = 0; i < 4; ++i) rounds[i][3].seconds = 2e-3;
  const Timing timing = conclude(slots, rounds, {});
  EXPECT_EQ(timing.finding.outcome, Outcome::noisy);
  EXPECT_EQ(timing.finding.rule, "contaminated");
  EXPECT_THAT(timing.finding.detail, HasSubstr("4 of 8"));
  EXPECT_EQ(timing.columns[1].comparison, Comparison::ambiguous);
}

TEST(Conclude, AFewBelievedAmongManyRejectedAreALuckySelection) {
  const auto slots = slots_for(kTwo, true);
  auto rounds = quiet_rounds({1e-3, 2e-3, 3e-3, 1e-3}, 20);
  for (std::size_t i = 6; i < rounds.size(); ++i) rounds[i][3].seconds = 2e-3;
  EXPECT_EQ(conclude(slots, rounds, {}).finding.rule, "contaminated");  // 6 of 20
  rounds.resize(18);
  EXPECT_TRUE(conclude(slots, rounds, {}).finding.ok());  // 6 of 18
}

TEST(Conclude, FewerThanFiveRoundsGiveNumbersButNoVerdict) {
  const auto slots = slots_for(kTwo, true);
  MeasureOptions options;
  options.rounds = 3;
  const Timing timing = conclude(slots, quiet_rounds({1e-3, 2e-3, 3e-3, 1e-3}, 3), options);
  EXPECT_TRUE(timing.finding.ok());
  EXPECT_DOUBLE_EQ(timing.columns[1].ratio.mid, 2);
  EXPECT_EQ(timing.columns[1].comparison, Comparison::ambiguous);
}

TEST(Precision, OnlyWhatDecidesCounts) {
  Timing timing;
  timing.columns.resize(3);
  timing.columns[1].ratio = {0.99, 1, 1.01};
  timing.columns[2].ratio = {1.0, 1.2, 1.4};
  EXPECT_TRUE(precise(timing, 0.0101)) << "the slow one decides nothing";
  EXPECT_FALSE(precise(timing, 0.0099));
  timing.columns[2].ratio = {1.0, 1.04, 1.08};
  EXPECT_FALSE(precise(timing, 0.0101)) << "near the fastest, it may decide";
  timing.columns.resize(1);
  EXPECT_TRUE(precise(timing, 0.0001)) << "nothing to compare with";
}

// Stopping when the interval is narrow looks at its width alone, so the estimate stays where it
// is, on either side; the interval covers a little less often than one of a fixed length.
TEST(Precision, StoppingEarlyMovesNoEstimate) {
  constexpr int kTrials = 400;
  const std::vector<Slot> slots = slots_for({"b"}, true);
  MeasureOptions options;
  options.rounds = 5;
  options.device_clock = true;
  options.precision = 0.005;
  int covered = 0, above = 0, most = 0;
  double sum = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    const std::vector<Round> all =
        quiet_rounds({1e-4, 1e-4, 1e-4}, 20, 0.004, static_cast<std::uint64_t>(trial) + 1);
    int wanted = 5;
    for (int before = 0; wanted != before;) {
      before = wanted;
      const std::vector<Round> some(all.begin(), all.begin() + wanted);
      wanted = rounds_wanted(slots, some, wanted, options);
    }
    most = std::max(most, wanted);
    const std::vector<Round> some(all.begin(), all.begin() + wanted);
    const Interval ratio = conclude(slots, some, options).columns[1].ratio;
    covered += ratio.low <= 1 && 1 <= ratio.high ? 1 : 0;
    above += ratio.mid > 1 ? 1 : 0;
    sum += std::log(ratio.mid);
  }
  EXPECT_EQ(most, 20) << "at most four times";
  EXPECT_NEAR(sum / kTrials, 0, 0.0005);
  EXPECT_NEAR(above, kTrials / 2, 40) << "four standard deviations";
  EXPECT_GT(covered, kTrials * 85 / 100);
}

TEST(Conclude, NothingMeasuredIsNoisyNotACrash) {
  const Timing timing = conclude(slots_for(kTwo, true), {}, {});
  EXPECT_EQ(timing.finding.outcome, Outcome::noisy);
  ASSERT_EQ(timing.columns.size(), 3U);
  EXPECT_EQ(timing.columns[1].comparison, Comparison::ambiguous);
}

}  // namespace
}  // namespace tilewright
