// SPDX-License-Identifier: Apache-2.0
// Files that are not ours, broken or from the future are refused and left as they were (CASES C01);
// files that can only be read are read.
#include "base/rng.h"
#include "record/made_trials.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <fstream>
#include <functional>

namespace tilewright {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;
constexpr auto kWrite = Database::Access::read_write;
constexpr auto kRead = Database::Access::read_only;

void write(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

void fill(const fs::path& path, int rows) {
  Database database = open_or_die(path, kWrite);
  for (int i = 0; i < rows; ++i) {
    Trial trial = made_trial(i);
    trial.detail = std::string(3000, 'x');  // so that a few rows are several pages
    ASSERT_TRUE(database.insert(trial));
  }
}

void expect_refused(const fs::path& path, const std::string& reason) {
  const std::string before = bytes_of(path);
  for (const auto access : {kWrite, kRead}) {
    const auto database = Database::open(path, access);
    ASSERT_FALSE(database) << path;
    EXPECT_EQ(database.error().code, ErrorCode::refused) << database.error().message;
    EXPECT_EQ(static_cast<int>(database.error().code), 5);  // the exit code
    EXPECT_THAT(database.error().message, HasSubstr(reason));
    EXPECT_THAT(database.error().message, HasSubstr(path.string()));
    EXPECT_FALSE(database.error().hint.empty());
    EXPECT_EQ(bytes_of(path), before);
  }
}

TEST(refusal, files_of_others) {
  const ScratchDirectory scratch;
  write(scratch / "text.db", "m,n,k\n1,2,3\n");
  expect_refused(scratch / "text.db", "is no SQLite file");
  write(scratch / "zeros.db", std::string(8192, '\0'));
  expect_refused(scratch / "zeros.db", "is no SQLite file");
  write(scratch / "short.db", std::string("SQLite format 3\0", 16));
  expect_refused(scratch / "short.db", "is no SQLite file");
  write(scratch / "json.db", R"({"schema_version":1})");
  expect_refused(scratch / "json.db", "is no SQLite file");
  fs::create_directory(scratch / "directory.db");
  const auto directory = Database::open(scratch / "directory.db", kWrite);
  ASSERT_FALSE(directory);
  EXPECT_EQ(directory.error().code, ErrorCode::refused);
}

TEST(refusal, another_programs_database) {
  for (const char* journal : {"DELETE", "WAL"}) {
    const ScratchDirectory scratch;
    {
      SQLite::Database raw((scratch / "browser.db").string(),
                           SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
      raw.execAndGet(fmt::format("PRAGMA journal_mode = {}", journal));
      raw.exec("CREATE TABLE trials (id)");  // even with our table's name
    }
    expect_refused(scratch / "browser.db", "is a database of another program");
    EXPECT_EQ(std::distance(fs::directory_iterator(scratch.path()), {}), 1) << journal;
  }
}

TEST(refusal, newer_and_older_versions) {
  const ScratchDirectory scratch;
  for (const int version : {kDatabaseVersion + 1, 1000, 0}) {
    const auto path = scratch / fmt::format("v{}.db", version);
    fill(path, 2);
    SQLite::Database(path.string(), SQLite::OPEN_READWRITE)
        .exec(fmt::format("PRAGMA user_version = {}", version));
    expect_refused(path, fmt::format("has version {}, this program reads 1", version));
  }
}

TEST(refusal, newer_version_that_is_still_in_the_log) {
  const ScratchDirectory scratch;
  const auto path = scratch / "t.db";
  fill(path, 2);
  const pid_t pid = start_child([&] {
    SQLite::Database raw(path.string(), SQLite::OPEN_READWRITE);
    raw.exec("PRAGMA user_version = 7");
    ::kill(::getpid(), SIGKILL);
    return 1;
  });
  ASSERT_EQ(wait_for(pid), 1000 + SIGKILL);
  const std::string log = bytes_of(path.string() + "-wal");
  ASSERT_FALSE(log.empty());
  expect_refused(path, "has version 7, this program reads 1");
  EXPECT_EQ(bytes_of(path.string() + "-wal"), log);
}

TEST(refusal, ours_without_our_tables) {
  const ScratchDirectory scratch;
  fill(scratch / "t.db", 1);
  SQLite::Database((scratch / "t.db").string(), SQLite::OPEN_READWRITE).exec("DROP TABLE trials");
  expect_refused(scratch / "t.db", "has no table 'trials'");
}

TEST(refusal, a_file_cut_short) {
  const ScratchDirectory scratch;
  fill(scratch / "whole.db", 12);
  const std::string whole = bytes_of(scratch / "whole.db");
  const auto expected = trials_of(open_or_die(scratch / "whole.db", kRead));
  ASSERT_GT(whole.size(), 12U * 3000);
  int in_last_page = 0;
  for (std::size_t length = 1; length < whole.size(); length += 997) {
    const auto path = scratch / fmt::format("{}.db", length);
    write(path, whole.substr(0, length));
    if (length <= whole.size() - 4096) {
      expect_refused(path, "is ");  // no SQLite file, no database, or damaged
      continue;
    }
    // SQLite takes a part of the last page for the page. Either nothing was in the missing part or
    // the row that it belongs to is refused; no row is ever given back wrong.
    ++in_last_page;
    if (auto database = Database::open(path, kWrite)) {
      const auto trials = database->select({});
      if (!trials) continue;
      EXPECT_EQ(*trials, expected) << length;
    }
  }
  EXPECT_GT(in_last_page, 2);
}

TEST(refusal, a_page_of_garbage) {
  const ScratchDirectory scratch;
  fill(scratch / "whole.db", 12);
  const std::string whole = bytes_of(scratch / "whole.db");
  Rng rng(1);
  int refused = 0, pages = 0;
  for (std::size_t at = 4096; at + 4096 <= whole.size(); at += 4096, ++pages) {
    std::string broken = whole;
    for (std::size_t i = at; i < at + 4096; ++i) broken[i] = static_cast<char>(rng() & 0xff);
    const auto path = scratch / "broken.db";
    write(path, broken);
    auto database = Database::open(path, kWrite);
    if (!database) {
      EXPECT_EQ(database.error().code, ErrorCode::refused) << database.error().message;
      EXPECT_EQ(bytes_of(path), broken);
      ++refused;
    } else {
      // Pages that hold nothing but text look like any other to SQLite. The row does not.
      const auto trials = database->select({});
      ASSERT_FALSE(trials) << at;
      EXPECT_EQ(trials.error().code, ErrorCode::refused);
    }
    fs::remove(path.string() + "-wal");
    fs::remove(path.string() + "-shm");
  }
  EXPECT_GT(refused, pages / 3);
}

TEST(refusal, flipped_bits_never_crash) {
  const ScratchDirectory scratch;
  fill(scratch / "whole.db", 3);
  const std::string whole = bytes_of(scratch / "whole.db");
  Rng rng(2);
  const auto path = scratch / "broken.db";
  for (int i = 0; i < 150; ++i) {
    std::string broken = whole;
    for (int flips = 0; flips < 4; ++flips) {
      const auto at = i % 2 == 0 ? rng.below(100) : rng.below(broken.size());
      broken[at] = static_cast<char>(broken[at] ^ (1 << rng.below(8)));
    }
    write(path, broken);
    if (auto database = Database::open(path, kRead)) {
      (void)database->select({});
      (void)database->best(made_trial(0).problem, made_trial(0).device, "offline");
    } else {
      EXPECT_FALSE(database.error().message.empty());
      EXPECT_NE(database.error().code, ErrorCode::internal) << database.error().message;
    }
    fs::remove(path.string() + "-wal");
    fs::remove(path.string() + "-shm");
  }
}

TEST(refusal, a_row_of_another_program) {
  const ScratchDirectory scratch;
  fill(scratch / "t.db", 1);
  SQLite::Database((scratch / "t.db").string(), SQLite::OPEN_READWRITE)
      .exec("UPDATE trials SET line = '{\"schema_version\":9}'");
  const Database database = open_or_die(scratch / "t.db", kRead);
  const auto trials = database.select({});
  ASSERT_FALSE(trials);
  EXPECT_EQ(trials.error().code, ErrorCode::refused);
  EXPECT_THAT(trials.error().message, HasSubstr("schema_version is 9"));
  EXPECT_FALSE(database.best(made_trial(0).problem, made_trial(0).device, "offline"));
}

TEST(refusal, an_empty_file_is_a_new_database) {
  // A process that is killed between creating the file and its first transaction leaves this.
  const ScratchDirectory scratch;
  write(scratch / "t.db", "");
  const auto reader = Database::open(scratch / "t.db", kRead);
  ASSERT_FALSE(reader);
  EXPECT_THAT(reader.error().message, HasSubstr("is empty"));
  Database database = open_or_die(scratch / "t.db", kWrite);
  EXPECT_TRUE(database.insert(made_trial(1)).value());
}

TEST(refusal, a_missing_file_cannot_be_read) {
  const ScratchDirectory scratch;
  const auto database = Database::open(scratch / "none.db", kRead);
  ASSERT_FALSE(database);
  EXPECT_EQ(database.error().code, ErrorCode::usage);
  EXPECT_THAT(database.error().message, HasSubstr("none.db does not exist"));
  EXPECT_FALSE(fs::exists(scratch / "none.db"));
}

TEST(refusal, a_directory_that_cannot_be_made) {
  const ScratchDirectory scratch;
  write(scratch / "file", "x");
  const auto database = Database::open(scratch / "file/below/t.db", kWrite);
  ASSERT_FALSE(database);
  EXPECT_NE(database.error().code, ErrorCode::internal);
}

// Runs `body` as a user without rights to the scratch directory; root has all rights everywhere.
int as_stranger(const std::function<int()>& body) {
  return wait_for(start_child([&] {
    if (::getuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) return 100;
    return body();
  }));
}

class ReadOnlyDirectory : public testing::Test {
 protected:
  void make_read_only() const {
    for (const auto& entry : fs::directory_iterator(scratch_.path())) {
      ASSERT_EQ(::chmod(entry.path().c_str(), 0444), 0);
    }
    ASSERT_EQ(::chmod(scratch_.path().c_str(), 0555), 0);
  }
  ScratchDirectory scratch_;
};

TEST_F(ReadOnlyDirectory, is_readable) {
  const auto path = scratch_ / "a 50% ?#.db";  // letters that mean something in a URI
  fill(path, 3);
  make_read_only();
  EXPECT_EQ(as_stranger([&] {
              const auto database = Database::open(path, kRead);
              if (!database) return 1;
              return database->select({}).value_or(std::vector<Trial>()).size() == 3 ? 0 : 2;
            }),
            0);
  EXPECT_EQ(std::distance(fs::directory_iterator(scratch_.path()), {}), 1);
}

TEST_F(ReadOnlyDirectory, cannot_be_written_and_says_so) {
  const auto path = scratch_ / "t.db";
  fill(path, 3);
  make_read_only();
  EXPECT_EQ(as_stranger([&] {
              auto database = Database::open(path, kWrite);
              if (database) return 1;
              if (database.error().code != ErrorCode::environment) return 2;
              return database.error().hint.empty() ? 3 : 0;
            }),
            0);
}

TEST_F(ReadOnlyDirectory, rows_in_the_log_are_never_dropped_silently) {
  const auto path = scratch_ / "t.db";
  const pid_t pid = start_child([&] {
    auto database = Database::open(path, kWrite);
    if (!database || !database->insert(made_trial(1))) return 1;
    ::kill(::getpid(), SIGKILL);
    return 2;
  });
  ASSERT_EQ(wait_for(pid), 1000 + SIGKILL);
  fs::remove(path.string() + "-shm");  // as when only the file and its log were copied
  make_read_only();
  EXPECT_EQ(as_stranger([&] {
              const auto database = Database::open(path, kRead);
              if (database) return database->count({}).value_or(0) == 1 ? 0 : 1;
              if (database.error().code != ErrorCode::refused) return 2;
              return database.error().message.find("t.db-wal") != std::string::npos ? 0 : 3;
            }),
            0);
}

}  // namespace
}  // namespace tilewright
