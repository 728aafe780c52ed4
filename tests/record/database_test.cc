// SPDX-License-Identifier: Apache-2.0
// What a database gives back: rows, order, the best, unions. Read next: durability_test.cc and
// refusal_test.cc.
#include "record/database.h"

#include "record/made_trials.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <thread>

namespace tilewright {
namespace {

using testing::HasSubstr;
constexpr auto kWrite = Database::Access::read_write;
constexpr auto kRead = Database::Access::read_only;

std::set<std::string> ids_of(const Database& database) {
  std::set<std::string> ids;
  for (const Trial& trial : trials_of(database)) ids.insert(trial.id());
  return ids;
}

TEST(database, creates_file_and_directories) {
  const ScratchDirectory scratch;
  const auto path = scratch / "a/b/tuning.db";
  {
    Database database = open_or_die(path, kWrite);
    EXPECT_EQ(database.insert(made_trial(1)).value(), true);
  }
  EXPECT_TRUE(std::filesystem::is_regular_file(path));
  // The last one to close leaves a single file: no log, no index.
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(path.parent_path()), {}), 1);
  EXPECT_EQ(open_or_die(path, kRead).count({}).value(), 1);
}

TEST(database, a_profile_comes_later) {
  const ScratchDirectory scratch;
  Trial trial = made_trial(1);
  const Trial other = made_trial(2);
  Database database = open_or_die(scratch / "t.db", kWrite);
  ASSERT_TRUE(database.insert(trial));
  ASSERT_TRUE(database.insert(other));
  {  // a field of a later writer, which must stay
    SQLite::Database raw(scratch / "t.db", SQLite::OPEN_READWRITE);
    raw.exec("UPDATE trials SET line = json_set(line, '$.later', 7)");
  }
  for (const double percent : {12.5, 71.25}) {
    trial.profile = Profile{"ncu", {{"dram_pct", percent}}, "gmma", "dram", {"k<\"x\">"}};
    EXPECT_EQ(database.set_profile(trial.id(), *trial.profile).value(), true);
    EXPECT_EQ(database.set_profile("no such id", *trial.profile).value(), false);
    EXPECT_THAT(trials_of(database), testing::UnorderedElementsAre(trial, other));
  }
  SQLite::Database raw(scratch / "t.db", SQLite::OPEN_READONLY);
  EXPECT_EQ(raw.execAndGet("SELECT count(*) FROM trials WHERE line LIKE '%\"later\":7%'").getInt(),
            2);
  EXPECT_FALSE(open_or_die(scratch / "t.db", kRead).set_profile(trial.id(), *trial.profile));
}

TEST(database, gives_back_every_field) {
  const ScratchDirectory scratch;
  Trial trial = made_trial(1);
  trial.detail = "line 1\nline 2 \"quoted\" | \u00e9";
  trial.rule = "elementwise";
  trial.seed = ~std::uint64_t{0};
  trial.max_abs_error = std::numeric_limits<double>::infinity();
  trial.spread = 0.1 + 0.2;
  trial.baselines["onednn"] = {.time_us = 3.3,
                               .ratio_low = 0.9,
                               .ratio = 1.1,
                               .ratio_high = 1.2,
                               .comparison = "ambiguous",
                               .headline = false};
  Database database = open_or_die(scratch / "t.db", kWrite);
  ASSERT_TRUE(database.insert(trial));
  EXPECT_EQ(trials_of(database), std::vector<Trial>{trial});
}

TEST(database, a_failed_trial_without_numbers_is_a_row_too) {
  const ScratchDirectory scratch;
  Trial trial = made_trial(1, std::numeric_limits<double>::quiet_NaN());
  trial.outcome = Outcome::wrong;
  Database database = open_or_die(scratch / "t.db", kWrite);
  ASSERT_TRUE(database.insert(trial).value());
  ASSERT_EQ(trials_of(database).size(), 1U);
  EXPECT_TRUE(std::isnan(trials_of(database)[0].time_us));
}

TEST(database, the_same_trial_is_one_row) {
  const ScratchDirectory scratch;
  Database database = open_or_die(scratch / "t.db", kWrite);
  EXPECT_EQ(database.insert(made_trial(1)).value(), true);
  EXPECT_EQ(database.insert(made_trial(1)).value(), false);
  EXPECT_EQ(database.insert(made_trial(2)).value(), true);
  EXPECT_EQ(database.count({}).value(), 2);
}

TEST(database, many_at_once_are_added_as_one_by_one) {
  const ScratchDirectory scratch;
  Database database = open_or_die(scratch / "t.db", kWrite);
  ASSERT_TRUE(database.insert(made_trial(2)));
  const std::vector<Trial> three = {made_trial(1), made_trial(2), made_trial(3)};
  EXPECT_EQ(database.insert(three).value(), 2);
  EXPECT_EQ(database.insert(three).value(), 0);
  EXPECT_EQ(database.insert(std::span<const Trial>{}).value(), 0);
  EXPECT_EQ(database.select({}).value().size(), 3U);
  Database reader = open_or_die(scratch / "t.db", kRead);
  EXPECT_EQ(reader.insert(three).error().code, ErrorCode::usage);
}

TEST(database, queries_match_each_field) {
  const ScratchDirectory scratch;
  Database database = open_or_die(scratch / "t.db", kWrite);
  for (int i = 0; i < 8; ++i) {
    Trial trial = made_trial(i);
    if (i & 1) trial.mode = std::string("hot");
    if (i & 2) trial.outcome = Outcome::crash;
    if (i & 4) trial.run = std::string("run-2");
    if (i == 7) {
      trial.problem = std::string("gemm 1x1x1 f16 acc=f32 nn");
      trial.device = std::string("other");
      trial.stage = std::string("final");
    }
    ASSERT_TRUE(database.insert(trial));
  }
  const auto count = [&](TrialQuery query) {
    EXPECT_EQ(static_cast<std::int64_t>(trials_of(database, query).size()),
              database.count(query).value());
    return database.count(query).value();
  };
  TrialQuery query;
  EXPECT_EQ(count(query), 8);
  query.mode = std::string("hot");
  EXPECT_EQ(count(query), 4);
  query.outcome = Outcome::crash;
  EXPECT_EQ(count(query), 2);
  query.run = std::string("run-2");
  EXPECT_EQ(count(query), 1);
  query.run = std::string("run-3");
  EXPECT_EQ(count(query), 0);
  query = {};
  query.device = std::string("other");
  EXPECT_EQ(count(query), 1);
  query.stage = std::string("final");
  query.problem = std::string("gemm 1x1x1 f16 acc=f32 nn");
  query.program = std::string("cpu isa=avx2 kc=7");
  EXPECT_EQ(count(query), 1);
  query.program = std::string("' OR 1=1 --");
  EXPECT_EQ(count(query), 0);
  query = {};
  query.limit = 3;
  EXPECT_EQ(count(query), 3);
  query.limit = 100;
  EXPECT_EQ(count(query), 8);
}

TEST(database, rows_come_in_the_order_in_which_attempts_ended) {
  const ScratchDirectory scratch;
  Database database = open_or_die(scratch / "t.db", kWrite);
  for (const int number : {5, 1, 4, 2, 3}) ASSERT_TRUE(database.insert(made_trial(number)));
  const auto trials = trials_of(database);
  ASSERT_EQ(trials.size(), 5U);
  EXPECT_TRUE(std::is_sorted(trials.begin(), trials.end(),
                             [](const Trial& a, const Trial& b) { return a.unix_ms < b.unix_ms; }));
}

TEST(database, best_is_final_before_screen_then_by_time) {
  const ScratchDirectory scratch;
  Database database = open_or_die(scratch / "t.db", kWrite);
  const Trial any = made_trial(0);
  const auto best = [&] {
    const auto trial = database.best(any.problem, any.device, "offline").value();
    return trial ? trial->program : "none";
  };
  EXPECT_EQ(best(), "none");
  Trial wrong = made_trial(1, 1);
  wrong.outcome = Outcome::wrong;
  ASSERT_TRUE(database.insert(wrong));
  ASSERT_TRUE(database.insert(made_trial(2, 0)));  // ok, but without a time
  EXPECT_EQ(best(), "none");
  ASSERT_TRUE(database.insert(made_trial(3, 9)));
  ASSERT_TRUE(database.insert(made_trial(4, 8)));
  ASSERT_TRUE(database.insert(made_trial(5, 8)));
  EXPECT_EQ(best(), "cpu isa=avx2 kc=4");  // the fastest, the earlier of two
  // A screen time is a rough one: however fast, it does not outdo a time taken in pairs.
  ASSERT_TRUE(database.insert(made_trial(6, 20, "final")));
  EXPECT_EQ(best(), "cpu isa=avx2 kc=6");
  ASSERT_TRUE(database.insert(made_trial(7, 19, "final")));
  EXPECT_EQ(best(), "cpu isa=avx2 kc=7");
  EXPECT_FALSE(database.best(any.problem, any.device, "hot").value());
  EXPECT_FALSE(database.best(any.problem, "other", "offline").value());
  EXPECT_FALSE(database.best("other", any.device, "offline").value());
}

TEST(database, remembers_devices_once_each) {
  const ScratchDirectory scratch;
  Database database = open_or_die(scratch / "t.db", kWrite);
  Device device = made_device();
  ASSERT_TRUE(database.remember(device));
  device.name = std::string("Invented CPU 9000 OEM");  // the same silicon under another name
  ASSERT_TRUE(database.remember(device));
  Device other = made_device();
  other.cores = 64;
  ASSERT_TRUE(database.remember(other));
  const auto devices = *database.devices();
  ASSERT_EQ(devices.size(), 2U);
  std::set<std::string> texts = {to_json(devices[0]), to_json(devices[1])};
  EXPECT_EQ(texts, (std::set{to_json(device), to_json(other)}));
}

TEST(database, merge_is_a_union_in_any_order) {
  const ScratchDirectory scratch;
  const auto host = [&](const std::string& name, int from, int to) {
    Database database = open_or_die(scratch / name, kWrite);
    for (int i = from; i < to; ++i) {
      Trial trial = made_trial(i);
      if (i >= 60) trial.host = name;  // each host's own
      EXPECT_TRUE(database.insert(trial));
    }
    Device device = made_device();
    device.cores = to;
    EXPECT_TRUE(database.remember(device));
  };
  host("a.db", 0, 50);
  host("b.db", 30, 80);
  host("c.db", 40, 90);
  // 0..59 once; 60..79 of b; 60..89 of c.
  constexpr std::int64_t kUnion = 60 + 20 + 30;
  std::set<std::string> expected;
  std::array<std::string, 3> names = {"a.db", "b.db", "c.db"};
  int order = 0;
  do {
    Database all = open_or_die(scratch / fmt::format("all{}.db", order++), kWrite);
    std::int64_t added = 0;
    for (const std::string& name : names) {
      added += all.merge(open_or_die(scratch / name, kRead)).value();
    }
    EXPECT_EQ(added, kUnion);
    EXPECT_EQ(all.count({}).value(), kUnion);
    EXPECT_EQ(all.devices().value().size(), 3U);
    EXPECT_EQ(all.merge(open_or_die(scratch / "a.db", kRead)).value(), 0);  // nothing new
    if (expected.empty()) expected = ids_of(all);
    EXPECT_EQ(ids_of(all), expected);
  } while (std::next_permutation(names.begin(), names.end()));
  EXPECT_EQ(order, 6);
}

TEST(database, merge_takes_more_rows_than_one_batch) {
  const ScratchDirectory scratch;
  {
    Database many = open_or_die(scratch / "many.db", kWrite);
    ASSERT_TRUE(many.insert(made_trial(0)));
    SQLite::Database raw((scratch / "many.db").string(), SQLite::OPEN_READWRITE);
    SQLite::Transaction transaction(raw);
    SQLite::Statement insert(raw,
                             "INSERT INTO trials (id,problem,program,device,mode,run,stage,outcome,"
                             "unix_ms,line) VALUES (?,'','','','','','','',0,?)");
    for (int i = 1; i < 2500; ++i) {
      insert.reset();
      insert.bind(1, made_trial(i).id());
      insert.bind(2, to_json(made_trial(i)));
      insert.exec();
    }
    transaction.commit();
  }
  Database all = open_or_die(scratch / "all.db", kWrite);
  EXPECT_EQ(all.merge(open_or_die(scratch / "many.db", kRead)).value(), 2500);
  TrialQuery query;  // the columns come from the line, not from the other file
  query.problem = made_trial(0).problem;
  EXPECT_EQ(all.count(query).value(), 2500);
}

TEST(database, merge_with_itself_adds_nothing) {
  const ScratchDirectory scratch;
  Database database = open_or_die(scratch / "t.db", kWrite);
  ASSERT_TRUE(database.insert(made_trial(1)));
  EXPECT_EQ(database.merge(database).value(), 0);
  EXPECT_EQ(database.merge(open_or_die(scratch / "t.db", kRead)).value(), 0);
}

TEST(database, merge_keeps_fields_of_a_later_writer) {
  const ScratchDirectory scratch;
  std::string line = to_json(made_trial(1));
  line.insert(line.size() - 1, ",\"later\":42");
  {
    Database from = open_or_die(scratch / "from.db", kWrite);
    ASSERT_TRUE(from.insert(made_trial(1)));
    SQLite::Database raw((scratch / "from.db").string(), SQLite::OPEN_READWRITE);
    SQLite::Statement update(raw, "UPDATE trials SET line = ?");
    update.bind(1, line);
    ASSERT_EQ(update.exec(), 1);
  }
  Database to = open_or_die(scratch / "to.db", kWrite);
  ASSERT_EQ(to.merge(open_or_die(scratch / "from.db", kRead)).value(), 1);
  SQLite::Database raw((scratch / "to.db").string());
  EXPECT_EQ(raw.execAndGet("SELECT line FROM trials").getString(), line);
}

TEST(database, merge_of_a_damaged_row_changes_nothing) {
  const ScratchDirectory scratch;
  {
    Database from = open_or_die(scratch / "from.db", kWrite);
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(from.insert(made_trial(i)));
  }
  for (const auto& [change, reason] :
       {std::pair{"UPDATE trials SET line = '{' WHERE seq = 3", "no JSON object"},
        std::pair{"UPDATE trials SET line = (SELECT line FROM trials WHERE seq = 1) WHERE seq = 3",
                  "its content has another id"}}) {
    SQLite::Database((scratch / "from.db").string(), SQLite::OPEN_READWRITE).exec(change);
    Database to = open_or_die(scratch / "to.db", kWrite);
    const auto merged = to.merge(open_or_die(scratch / "from.db", kRead));
    ASSERT_FALSE(merged);
    EXPECT_EQ(merged.error().code, ErrorCode::refused);
    EXPECT_THAT(merged.error().message, HasSubstr(reason));
    EXPECT_THAT(merged.error().message, HasSubstr("from.db"));
    EXPECT_EQ(to.count({}).value(), 0);
    EXPECT_TRUE(to.insert(made_trial(9)));  // and it still works
    SQLite::Database((scratch / "to.db").string(), SQLite::OPEN_READWRITE)
        .exec("DELETE FROM trials");
  }
}

TEST(database, reading_only_refuses_to_write) {
  const ScratchDirectory scratch;
  {
    Database database = open_or_die(scratch / "t.db", kWrite);
  }
  Database database = open_or_die(scratch / "t.db", kRead);
  EXPECT_EQ(database.insert(made_trial(1)).error().code, ErrorCode::usage);
  EXPECT_EQ(database.remember(made_device()).error().code, ErrorCode::usage);
  EXPECT_EQ(database.merge(database).error().code, ErrorCode::usage);
}

TEST(database, readers_see_what_a_writer_has_committed) {
  const ScratchDirectory scratch;
  Database writer = open_or_die(scratch / "t.db", kWrite);
  const Database reader = open_or_die(scratch / "t.db", kRead);
  for (int i = 1; i <= 5; ++i) {
    ASSERT_TRUE(writer.insert(made_trial(i)));
    EXPECT_EQ(reader.count({}).value(), i);
  }
}

TEST(database, threads_may_share_one_object) {
  const ScratchDirectory scratch;
  Database database = open_or_die(scratch / "t.db", kWrite);
  std::array<int, 4> added{};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 25; ++i) added[t] += database.insert(made_trial(i)).value() ? 1 : 0;
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(added[0] + added[1] + added[2] + added[3], 25);  // each row was new to one of them
  EXPECT_EQ(database.count({}).value(), 25);
}

TEST(database, default_place_follows_xdg) {
  const char* old = std::getenv("XDG_DATA_HOME");
  const std::string before = old != nullptr ? old : "";
  ::setenv("XDG_DATA_HOME", "/some/where", 1);
  EXPECT_EQ(default_database().value(), "/some/where/tilewright/tuning.db");
  if (old != nullptr) {
    ::setenv("XDG_DATA_HOME", before.c_str(), 1);
  } else {
    ::unsetenv("XDG_DATA_HOME");
  }
}

}  // namespace
}  // namespace tilewright
