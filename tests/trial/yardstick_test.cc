// SPDX-License-Identifier: Apache-2.0
// Times of several cards, from invented trials.
#include "trial/yardstick.h"

#include <gtest/gtest.h>

#include <vector>

namespace tilewright {
namespace {

Trial trial(double plain_us, double chosen_us) {
  Trial made;
  made.outcome = Outcome::ok;
  made.stage = "final";
  made.time_us = 1;
  if (plain_us > 0) made.baselines["plain"] = {.time_us = plain_us};
  if (chosen_us > 0) made.baselines["chosen"] = {.time_us = chosen_us, .algorithm = "a"};
  return made;
}

TEST(Yardstick, IsABaselineWithoutAChoiceThatAllHave) {
  const Trial slow = trial(8, 6), fast = trial(6, 5);
  const std::vector<const Trial*> both = {&slow, &fast};
  const Yardstick yardstick(both);
  EXPECT_EQ(yardstick.beside(slow), 8);
  EXPECT_EQ(yardstick.beside(fast), 6);
}

TEST(Yardstick, IsOneWhereNothingIsCommon) {
  const Trial with = trial(8, 6), without = trial(0, 5);
  const std::vector<const Trial*> both = {&with, &without};
  EXPECT_EQ(Yardstick(both).beside(with), 1) << "the other has no plain baseline";
  EXPECT_EQ(Yardstick({}).beside(with), 1);
}

TEST(Trials, TheNewestOfEachProgram) {
  Trial first = trial(1, 1), second = trial(1, 1), again = trial(1, 1);
  first.program = again.program = "twice";
  second.program = "once";
  first.unix_ms = 1, second.unix_ms = 2, again.unix_ms = 3;
  const std::vector<const Trial*> forth = {&first, &second, &again};
  EXPECT_EQ(newest_of_each_program(forth), (std::vector<const Trial*>{&again, &second}));
  const std::vector<const Trial*> back = {&again, &second, &first};
  EXPECT_EQ(newest_of_each_program(back), (std::vector<const Trial*>{&again, &second}));
  EXPECT_TRUE(newest_of_each_program({}).empty());
}

TEST(Trials, OfFullLengthAndOfTexts) {
  Trial made = trial(1, 1);
  EXPECT_TRUE(was_timed_in_full(made));
  made.stage = "bench";
  EXPECT_TRUE(was_timed_in_full(made));
  made.stage = "screen";
  EXPECT_FALSE(was_timed_in_full(made));
  made.stage = "final";
  made.outcome = Outcome::wrong;
  EXPECT_FALSE(was_timed_in_full(made));
  made.program = "cpu isa=scalar";
  EXPECT_TRUE(has_a_text(made));
  made.policy = std::string(kServedPolicy) + "nearest";
  EXPECT_FALSE(has_a_text(made));
  made.policy.clear();
  made.program = "source:00ff";
  EXPECT_FALSE(has_a_text(made));
}

}  // namespace
}  // namespace tilewright
