// SPDX-License-Identifier: Apache-2.0
// The order of the finals: the fastest first, noisy ones only where nobody else has won.
#include "tune/finalists.h"

#include <gtest/gtest.h>

#include <string>

namespace tilewright {
namespace {

Trial trial(const std::string& program, Outcome outcome, double us, double baseline_us = 0) {
  Trial made;
  made.program = program;
  made.outcome = outcome;
  made.time_us = us;
  if (baseline_us > 0) made.baselines["onednn"].time_us = baseline_us;
  return made;
}

// The programs in the order of their finals, which end as `outcome` says.
template <class Outcomes>
std::string order(Finalists finalists, bool haste, const Outcomes& outcome) {
  std::string names;
  while (const auto next = finalists.next(haste)) {
    names += next->program;
    finalists.ended(trial(next->program, outcome(next->program), 5));
  }
  return names + (finalists.winner() ? "=" + finalists.winner()->program : "");
}
Outcome ok(const std::string&) {
  return Outcome::ok;
}
Outcome noisy(const std::string&) {
  return Outcome::noisy;
}

const std::vector<Trial> kScreened = {trial("a", Outcome::ok, 3), trial("b", Outcome::noisy, 0),
                                      trial("c", Outcome::wrong, 0), trial("d", Outcome::ok, 2),
                                      trial("e", Outcome::ok, 4)};

TEST(Finalists, TheFastestComeFirst) {
  EXPECT_EQ(order(Finalists(kScreened, 2), false, ok), "da=d");
  EXPECT_EQ(order(Finalists(kScreened, 3), true, ok), "d=d");
}

TEST(Finalists, NoisyOnesComeOnceMoreWhileNobodyHasWon) {
  EXPECT_EQ(order(Finalists(kScreened, 3), false, noisy), "daebdaeb");
  EXPECT_EQ(order(Finalists(kScreened, 3), true, noisy), "dae");
  int calls = 0;
  EXPECT_EQ(order(Finalists(kScreened, 3), false,
                  [&](const std::string&) { return ++calls < 6 ? Outcome::noisy : Outcome::ok; }),
            "daebda=a");
  EXPECT_EQ(
      order(Finalists(kScreened, 3), false,
            [](const std::string& name) { return name == "d" ? Outcome::noisy : Outcome::ok; }),
      "dae=a");
}

TEST(Finalists, ARatioCountsWhereThereIsOneAndElseTheTime) {
  Finalists paired({trial("a", Outcome::ok, 3, 9), trial("b", Outcome::ok, 2, 4)}, 2);
  EXPECT_EQ(paired.next(false)->program, "a");
  paired.ended(trial("a", Outcome::ok, 3, 6));
  EXPECT_EQ(paired.next(false)->program, "b");
  paired.ended(trial("b", Outcome::ok, 2, 6));
  EXPECT_EQ(paired.winner()->program, "b");
  Finalists alone({trial("a", Outcome::ok, 2), trial("b", Outcome::ok, 3)}, 2);
  EXPECT_EQ(alone.next(false)->program, "a");
  alone.ended(trial("a", Outcome::ok, 4));
  EXPECT_EQ(alone.next(false)->program, "b");
  alone.ended(trial("b", Outcome::ok, 3));
  EXPECT_EQ(alone.winner()->program, "b");
}

}  // namespace
}  // namespace tilewright
