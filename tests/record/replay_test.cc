// SPDX-License-Identifier: Apache-2.0
// Replay tables: a search sees the first time of a program, a report uses the last.
#include "record/replay.h"

#include "record/made_trials.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

class Replay : public testing::Test {
 protected:
  // One row; `at` is when it ended.
  void add(int program, int at, double time_us, Outcome outcome = Outcome::ok,
           const std::string& mode = "offline") {
    Trial trial = made_trial(program, time_us);
    trial.unix_ms = at;
    trial.outcome = outcome;
    trial.mode = mode;
    ASSERT_TRUE(database_.insert(trial).value());
  }
  [[nodiscard]] ReplayTable load() const {
    const Trial any = made_trial(0);
    auto table = ReplayTable::load(database_, any.problem, any.device, "offline");
    EXPECT_TRUE(table);
    return std::move(*table);
  }
  static std::string text(int program) { return made_trial(program).program; }

  ScratchDirectory scratch_;
  Database database_ = open_or_die(scratch_ / "t.db", Database::Access::read_write);
};

TEST_F(Replay, first_is_seen_and_last_is_reported) {
  add(2, 30, 8);
  add(1, 10, 5);  // lucky
  add(1, 40, 9);  // what it really takes
  add(1, 20, 7);  // arrived late, ended between the two
  const ReplayTable table = load();
  EXPECT_EQ(table.programs(), (std::vector{text(1), text(2)}));
  EXPECT_EQ(table.seen(text(1))->time_us, 5);
  EXPECT_EQ(table.reported(text(1))->time_us, 9);
  EXPECT_EQ(table.seen(text(2))->time_us, 8);
  EXPECT_EQ(table.reported(text(2))->time_us, 8);
  // The lucky minimum is not the oracle.
  EXPECT_EQ(table.oracle()->program, text(2));
}

TEST_F(Replay, a_final_does_not_replace_a_second_screening) {
  Trial first = made_trial(1, 5), second = made_trial(1, 6), other = made_trial(2, 9);
  Trial final = made_trial(1, 4, "final"), alone = made_trial(2, 8, "final");
  const ReplayTable table = ReplayTable::of({first, other, final, second, final, alone});
  EXPECT_EQ(table.seen(text(1))->time_us, 5);
  EXPECT_EQ(table.reported(text(1))->time_us, 6);
  EXPECT_EQ(table.reported(text(2))->time_us, 8);
  EXPECT_EQ(table.timed_again(), 2U);
}

TEST_F(Replay, failures_are_cells) {
  add(1, 1, 0, Outcome::compile_timeout);
  add(2, 2, 3, Outcome::ok);
  add(2, 3, 0, Outcome::noisy);
  const ReplayTable table = load();
  EXPECT_EQ(table.programs().size(), 2U);
  EXPECT_EQ(table.seen(text(1))->outcome, Outcome::compile_timeout);
  EXPECT_EQ(table.seen(text(2))->outcome, Outcome::ok);
  EXPECT_EQ(table.reported(text(2))->outcome, Outcome::noisy);
  EXPECT_EQ(table.oracle(), nullptr);  // nothing was reported as right
}

TEST_F(Replay, an_ok_row_without_a_time_is_no_oracle) {
  add(1, 1, 0);
  add(2, 2, 4);
  EXPECT_EQ(load().oracle()->program, text(2));
}

TEST_F(Replay, unknown_programs_and_other_modes_are_not_in_it) {
  add(1, 1, 4);
  add(2, 2, 4, Outcome::ok, "hot");
  const ReplayTable table = load();
  EXPECT_EQ(table.seen(text(2)), nullptr);
  EXPECT_EQ(table.reported(text(2)), nullptr);
  EXPECT_EQ(table.seen(""), nullptr);
}

TEST_F(Replay, an_empty_table_has_no_oracle) {
  const ReplayTable table = load();
  EXPECT_TRUE(table.programs().empty());
  EXPECT_EQ(table.oracle(), nullptr);
}

TEST_F(Replay, pointers_live_as_long_as_the_table) {
  for (int i = 0; i < 100; ++i) add(i, i, 5 + i);
  ReplayTable table = load();
  const Trial* before = table.oracle();
  const ReplayTable moved = std::move(table);
  EXPECT_EQ(moved.oracle(), before);
  EXPECT_EQ(moved.seen(text(99))->time_us, 104);
}

TEST_F(Replay, needs_all_of_its_key) {
  const Trial any = made_trial(0);
  EXPECT_FALSE(ReplayTable::load(database_, "", any.device, "offline"));
  EXPECT_FALSE(ReplayTable::load(database_, any.problem, "", "offline"));
  const auto table = ReplayTable::load(database_, any.problem, any.device, "");
  ASSERT_FALSE(table);
  EXPECT_EQ(table.error().code, ErrorCode::usage);
}

}  // namespace
}  // namespace tilewright
