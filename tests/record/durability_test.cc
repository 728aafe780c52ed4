// SPDX-License-Identifier: Apache-2.0
// Killed at any moment, a database keeps every row that was acknowledged, and the next process goes
// on where the last one stopped (CASES C05, C06). Many processes write to one file and none waits
// for another (C14).
#include "base/rng.h"
#include "record/made_trials.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>

#include <array>
#include <atomic>
#include <chrono>
#include <set>
#include <thread>
#include <vector>

namespace {
std::atomic<int> syncs = 0;
std::atomic<int> die_at_sync = 0;  // 0: never

void note_sync() {
  if (++syncs == die_at_sync) ::kill(::getpid(), SIGKILL);
}
}  // namespace

// Stand in front of the C library's, to see when SQLite asks for its bytes to be on the disk, and
// to die at just those moments.
extern "C" int fdatasync(int fd) {
  note_sync();
  return static_cast<int>(::syscall(SYS_fdatasync, fd));
}
extern "C" int fsync(int fd) {
  note_sync();
  return static_cast<int>(::syscall(SYS_fsync, fd));
}

namespace tilewright {
namespace {

constexpr auto kWrite = Database::Access::read_write;
constexpr auto kRead = Database::Access::read_only;

struct Pipe {
  std::array<int, 2> end{};
  Pipe() { EXPECT_EQ(::pipe(end.data()), 0); }
  ~Pipe() { close_both(); }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void close_one(std::size_t i) {
    if (end[i] >= 0) ::close(end[i]);
    end[i] = -1;
  }
  void close_both() {
    close_one(0);
    close_one(1);
  }
};

std::string integrity(const std::filesystem::path& path) {
  SQLite::Database raw(path.string(), SQLite::OPEN_READWRITE);
  return raw.execAndGet("PRAGMA integrity_check").getString();
}

// Inserts trials from `first` on without end and writes the number of each to `fd` once it is in.
int insert_forever(const std::filesystem::path& path, int first, int fd) {
  auto database = Database::open(path, kWrite);
  if (!database) return 1;
  for (int i = first;; ++i) {
    if (!database->insert(made_trial(i))) return 2;
    if (::write(fd, &i, sizeof i) != sizeof i) return 3;
  }
}

TEST(durability, a_killed_process_loses_nothing_acknowledged) {
  const ScratchDirectory scratch;
  const auto path = scratch / "t.db";
  Rng rng(11);
  std::set<int> acknowledged;
  int rounds_with_rows = 0;
  for (int round = 0; round < 40; ++round) {
    // The first rounds are killed while the file is being created.
    const auto moment = std::chrono::microseconds(rng.below(round < 15 ? 6000 : 60000));
    if (round < 15) {
      for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
        std::filesystem::remove(path.string() + suffix);
      }
      acknowledged.clear();
    }
    Pipe pipe;
    const int first = round * 1'000'000;
    const pid_t pid = start_child([&] { return insert_forever(path, first, pipe.end[1]); });
    ASSERT_GT(pid, 0);
    pipe.close_one(1);
    std::this_thread::sleep_for(moment);
    ::kill(pid, SIGKILL);
    EXPECT_EQ(wait_for(pid), 1000 + SIGKILL);
    int number = 0, rows = 0;
    while (::read(pipe.end[0], &number, sizeof number) == sizeof number) {
      acknowledged.insert(number);
      ++rows;
    }
    rounds_with_rows += rows > 0 ? 1 : 0;

    auto database = Database::open(path, kWrite);
    ASSERT_TRUE(database) << "round " << round << ": " << database.error().message;
    std::set<int> found;
    for (const Trial& trial : trials_of(*database)) {
      found.insert(static_cast<int>(trial.unix_ms - made_trial(0).unix_ms));
    }
    for (const int wanted : acknowledged) ASSERT_TRUE(found.contains(wanted)) << wanted;
    // At most the row in flight of each round is there without having been acknowledged.
    EXPECT_LE(found.size(), acknowledged.size() + static_cast<std::size_t>(round) + 1);
    ASSERT_EQ(integrity(path), "ok") << "round " << round;
  }
  EXPECT_GT(rounds_with_rows, 5);  // else this machine was too slow to test anything
}

TEST(durability, killed_at_each_sync_of_a_new_database) {
  // Every step between "no file" and "two rows": the journal is written, the header is, ...
  constexpr int kRows = 2;
  int at = 1, killed = 0;
  for (bool finished = false; !finished; ++at) {
    ASSERT_LT(at, 100);
    const ScratchDirectory scratch;
    const auto path = scratch / "t.db";
    Pipe pipe;
    const pid_t pid = start_child([&] {
      syncs = 0;
      die_at_sync = at;
      auto database = Database::open(path, kWrite);
      for (int i = 0; i < kRows; ++i) {
        if (!database || !database->insert(made_trial(i))) return 1;
        if (::write(pipe.end[1], &i, sizeof i) != sizeof i) return 2;
      }
      return 0;
    });
    pipe.close_one(1);
    const int status = wait_for(pid);
    finished = status == 0;
    ASSERT_TRUE(finished || status == 1000 + SIGKILL) << status;
    killed += finished ? 0 : 1;
    int number = 0;
    std::int64_t acknowledged = 0;
    while (::read(pipe.end[0], &number, sizeof number) == sizeof number) ++acknowledged;
    // A reader has either the rows or a reason; it never repairs, so it comes first.
    if (const auto reader = Database::open(path, kRead)) {
      EXPECT_GE(reader->count({}).value_or(-1), acknowledged) << at;
    } else {
      EXPECT_EQ(acknowledged, 0) << reader.error().message;
    }
    auto database = Database::open(path, kWrite);
    ASSERT_TRUE(database) << "sync " << at << ": " << database.error().message;
    EXPECT_GE(database->count({}).value(), acknowledged);
    EXPECT_TRUE(database->insert(made_trial(100)).value());
    EXPECT_EQ(integrity(path), "ok") << at;
  }
  EXPECT_GE(killed, 5);
}

TEST(durability, the_rerun_does_what_is_missing) {
  // C05: killed after 3 of 10; the rerun keeps 3 and does 7.
  const ScratchDirectory scratch;
  const auto path = scratch / "t.db";
  const pid_t pid = start_child([&] {
    auto database = Database::open(path, kWrite);
    for (int i = 0; database && i < 3; ++i) {
      if (!database->insert(made_trial(i))) return 1;
    }
    ::kill(::getpid(), SIGKILL);
    return 2;
  });
  ASSERT_EQ(wait_for(pid), 1000 + SIGKILL);
  Database database = open_or_die(path, kWrite);
  int done = 0;
  for (int i = 0; i < 10; ++i) done += database.insert(made_trial(i)).value() ? 1 : 0;
  EXPECT_EQ(done, 7);
}

TEST(durability, a_reader_sees_the_rows_of_a_killed_writer) {
  const ScratchDirectory scratch;
  const auto path = scratch / "t.db";
  const pid_t pid = start_child([&] {
    auto database = Database::open(path, kWrite);
    if (!database || !database->insert(made_trial(1))) return 1;
    ::kill(::getpid(), SIGKILL);
    return 2;
  });
  ASSERT_EQ(wait_for(pid), 1000 + SIGKILL);
  ASSERT_GT(std::filesystem::file_size(path.string() + "-wal"), 0U);
  EXPECT_EQ(open_or_die(path, kRead).count({}).value(), 1);
}

TEST(durability, commits_reach_the_disk_before_they_are_acknowledged) {
  const ScratchDirectory scratch;
  Database database = open_or_die(scratch / "t.db", kWrite);
  ASSERT_TRUE(database.insert(made_trial(0)));
  for (int i = 1; i <= 10; ++i) {
    const int before = syncs;
    ASSERT_TRUE(database.insert(made_trial(i)));
    EXPECT_GT(syncs, before) << i;
  }
  SQLite::Database raw((scratch / "t.db").string());
  EXPECT_EQ(raw.execAndGet("PRAGMA journal_mode").getString(), "wal");
}

TEST(concurrency, eight_processes_write_to_one_new_file) {
  const ScratchDirectory scratch;
  const auto path = scratch / "t.db";
  constexpr int kProcesses = 8, kOwn = 40, kShared = 20;
  Pipe start;
  std::vector<pid_t> pids;
  for (int p = 0; p < kProcesses; ++p) {
    pids.push_back(start_child([&] {
      start.close_one(1);
      char byte = 0;
      if (::read(start.end[0], &byte, 1) != 0) return 1;  // the end of the pipe is the signal
      auto database = Database::open(path, kWrite);
      if (!database) return 2;
      int added = 0;
      for (int i = 0; i < kOwn + kShared; ++i) {
        const bool shared = i % 3 == 2;
        const auto is_new =
            database->insert(made_trial(shared ? 1'000'000 + i / 3 : (p + 1) * 1000 + i));
        if (!is_new) return 3;
        if (!shared && !*is_new) return 4;
        added += *is_new ? 1 : 0;
      }
      return added < kOwn ? 5 : 0;
    }));
    ASSERT_GT(pids.back(), 0);
  }
  start.close_one(1);
  for (const pid_t pid : pids) EXPECT_EQ(wait_for(pid), 0);
  EXPECT_EQ(open_or_die(path, kRead).count({}).value(), kProcesses * kOwn + kShared);
  EXPECT_EQ(integrity(path), "ok");
}

TEST(concurrency, opening_and_closing_all_the_time) {
  // The last to close removes the log while others open: the hardest moment for a reader.
  const ScratchDirectory scratch;
  const auto path = scratch / "t.db";
  {
    Database database = open_or_die(path, kWrite);
  }
  constexpr int kProcesses = 8, kRounds = 12;
  std::vector<pid_t> pids;
  for (int p = 0; p < kProcesses; ++p) {
    pids.push_back(start_child([&] {
      for (int round = 0; round < kRounds; ++round) {
        const bool writes = p % 2 == 0;
        auto database = Database::open(path, writes ? kWrite : kRead);
        if (!database) return 1;
        if (writes && !database->insert(made_trial(p * 1000 + round))) return 2;
        const auto rows = database->count({});
        if (!rows || (writes && *rows < round + 1)) return 3;
      }
      return 0;
    }));
  }
  for (const pid_t pid : pids) EXPECT_EQ(wait_for(pid), 0);
  EXPECT_EQ(open_or_die(path, kRead).count({}).value(), kProcesses / 2 * kRounds);
  EXPECT_EQ(integrity(path), "ok");
}

TEST(concurrency, merging_into_each_other) {
  const ScratchDirectory scratch;
  for (const int first : {0, 100}) {
    Database database = open_or_die(scratch / fmt::format("{}.db", first), kWrite);
    for (int i = first; i < first + 50; ++i) ASSERT_TRUE(database.insert(made_trial(i)));
  }
  std::vector<pid_t> pids;
  for (const auto& [to, from] : {std::pair{"0.db", "100.db"}, std::pair{"100.db", "0.db"}}) {
    pids.push_back(start_child([&, to = to, from = from] {
      auto target = Database::open(scratch / to, kWrite);
      auto source = Database::open(scratch / from, kRead);
      return target && source && target->merge(*source) ? 0 : 1;
    }));
  }
  for (const pid_t pid : pids) EXPECT_EQ(wait_for(pid), 0);
  EXPECT_EQ(open_or_die(scratch / "0.db", kRead).count({}).value(), 100);
  EXPECT_EQ(open_or_die(scratch / "100.db", kRead).count({}).value(), 100);
}

}  // namespace
}  // namespace tilewright
