// SPDX-License-Identifier: Apache-2.0
// Files under faults: writers that are killed, writers that race, a disk that is full, no home.
#include "base/file.h"

#include "base/hash.h"
#include "base/rng.h"
#include "scratch_folder.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <thread>
#include <vector>

namespace tilewright {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// Bytes that prove that they are whole: a hash of the rest in front.
std::string sealed(std::uint64_t number) {
  const std::string body(1 + (number * 7919) % 300000, static_cast<char>('a' + number % 26));
  return hash128(body) + body;
}
bool is_whole(const std::string& bytes) {
  return bytes.size() > 32 && hash128(bytes.substr(32)) == bytes.substr(0, 32);
}

// Runs `body` in a forked child and returns its wait status.
template <class Body>
pid_t in_child(Body body) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    body();
    ::_exit(0);
  }
  return pid;
}
int status_of(pid_t pid) {
  int status = 0;
  ::waitpid(pid, &status, 0);
  return status;
}

class Environment {  // sets or unsets a variable, and puts it back
 public:
  Environment(const char* name, const char* value) : name_(name) {
    if (const char* old = ::getenv(name)) old_ = old;
    if (value != nullptr) {
      ::setenv(name, value, 1);
    } else {
      ::unsetenv(name);
    }
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment() {
    if (old_) {
      ::setenv(name_, old_->c_str(), 1);
    } else {
      ::unsetenv(name_);
    }
  }

 private:
  const char* name_;
  std::optional<std::string> old_;
};

TEST(File, WritesReadsAndMakesFolders) {
  const ScratchFolder folder;
  const auto path = folder.path() / "a" / "b" / "file";
  const std::string bytes("x\0y\n", 4);
  ASSERT_TRUE(write_file_atomically(path, bytes));
  EXPECT_EQ(read_file(path).value(), bytes);
  ASSERT_TRUE(write_file_atomically(path, ""));
  EXPECT_EQ(read_file(path).value(), "");
  EXPECT_EQ(std::distance(fs::directory_iterator(path.parent_path()), {}), 1);  // no scratch left
  struct stat info{};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  const mode_t mask = ::umask(0);
  ::umask(mask);
  EXPECT_EQ(info.st_mode & 0777U, 0666U & ~mask);  // as any program's file, not a private one
}

TEST(File, ErrorsNameThePath) {
  const ScratchFolder folder;
  const auto missing = read_file(folder.path() / "nothing");
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("nothing"));
  EXPECT_FALSE(read_file(folder.path()));  // a directory
  ASSERT_TRUE(write_file_atomically(folder.path() / "file", "x"));
  const auto below_file = write_file_atomically(folder.path() / "file" / "child", "x");
  ASSERT_FALSE(below_file);
  EXPECT_EQ(below_file.error().code, ErrorCode::environment);
  EXPECT_THAT(below_file.error().message, HasSubstr("child"));
  fs::create_directory(folder.path() / "dir");
  EXPECT_FALSE(write_file_atomically(folder.path() / "dir", "x"));
  EXPECT_FALSE(write_file_atomically(folder.path() / "dir/", "x"));
  EXPECT_TRUE(fs::is_empty(folder.path() / "dir"));
}

// CASES C05: a writer that is killed at any moment leaves the old bytes or the new ones.
TEST(File, KilledWritersLeaveWholeFiles) {
  const ScratchFolder folder;
  const auto path = folder.path() / "file";
  ASSERT_TRUE(write_file_atomically(path, sealed(0)));
  Rng rng(5);
  int changed = 0;
  std::string before = read_file(path).value();
  for (int round = 0; round < 40; ++round) {
    const pid_t pid = in_child([&] {
      for (std::uint64_t i = 1;; ++i) {
        (void)write_file_atomically(path, sealed(i + 1000 * static_cast<std::uint64_t>(round)));
      }
    });
    std::this_thread::sleep_for(std::chrono::microseconds(rng.below(20000)));
    ::kill(pid, SIGKILL);
    status_of(pid);
    auto after = read_file(path);
    ASSERT_TRUE(after);
    ASSERT_TRUE(is_whole(*after)) << "round " << round;
    changed += *after != before;
    before = *after;
  }
  EXPECT_GT(changed, 0) << "no child ever wrote: this test tested nothing";
  // What the killed ones left behind does not block a later writer.
  ASSERT_TRUE(write_file_atomically(path, sealed(1)));
}

// CASES C03: racing writers all succeed and readers never see a part.
TEST(File, RacingWritersAndReaders) {
  const ScratchFolder folder;
  const auto path = folder.path() / "file";
  ASSERT_TRUE(write_file_atomically(path, sealed(0)));
  std::vector<pid_t> writers;
  for (std::uint64_t w = 0; w < 4; ++w) {
    writers.push_back(in_child([&] {
      std::vector<std::jthread> threads;
      for (std::uint64_t t = 0; t < 2; ++t) {
        threads.emplace_back([&, t] {
          for (std::uint64_t i = 0; i < 25; ++i) {
            if (!write_file_atomically(path, sealed(1 + w * 1000 + t * 100 + i))) ::_exit(1);
          }
        });
      }
    }));
  }
  for (int i = 0; i < 300; ++i) {
    const auto bytes = read_file(path);
    EXPECT_TRUE(bytes && is_whole(*bytes));
  }
  for (const pid_t pid : writers) EXPECT_EQ(status_of(pid), 0);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1);
}

TEST(File, AFailedWriteKeepsTheOldFileAndLeavesNoScratch) {
  const ScratchFolder folder;
  const auto path = folder.path() / "file";
  ASSERT_TRUE(write_file_atomically(path, "old"));
  const pid_t pid = in_child([&] {
    // A limit on the file size fails write() half-way, as a full disk does.
    const rlimit limit{10000, 10000};
    ::signal(SIGXFSZ, SIG_IGN);
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const auto status = write_file_atomically(path, std::string(50000, 'n'));
    ::_exit(!status && status.error().code == ErrorCode::environment ? 42 : 1);
  });
  EXPECT_EQ(WEXITSTATUS(status_of(pid)), 42);
  EXPECT_EQ(read_file(path).value(), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1);
}

TEST(Home, FollowsXdg) {
  const ScratchFolder folder;
  const Environment home("HOME", folder.path().c_str());
  {
    const Environment a("XDG_CACHE_HOME", nullptr), b("XDG_DATA_HOME", nullptr),
        c("XDG_STATE_HOME", "relative/is/ignored");
    EXPECT_EQ(cache_home().value(), folder.path() / ".cache/tilewright");
    EXPECT_EQ(data_home().value(), folder.path() / ".local/share/tilewright");
    EXPECT_EQ(state_home().value(), folder.path() / ".local/state/tilewright");
  }
  const auto elsewhere = folder.path() / "elsewhere";
  const Environment a("XDG_CACHE_HOME", elsewhere.c_str());
  EXPECT_EQ(cache_home().value(), elsewhere / "tilewright");
  EXPECT_FALSE(fs::exists(elsewhere));  // asking creates nothing
}

// CASES C08: no home, "/" as home, a file as home.
TEST(Home, UnusableHomesAreErrorsOfTheEnvironment) {
  const ScratchFolder folder;
  ASSERT_TRUE(write_file_atomically(folder.path() / "file", ""));
  const std::string file = (folder.path() / "file").string();
  const Environment xdg("XDG_CACHE_HOME", nullptr);
  for (const char* value :
       std::vector<const char*>{nullptr, "", "/", "//", "/.", "relative", file.c_str()}) {
    const Environment home("HOME", value);
    const auto result = cache_home();
    ASSERT_FALSE(result) << (value != nullptr ? value : "(unset)");
    EXPECT_EQ(result.error().code, ErrorCode::environment);
    EXPECT_THAT(result.error().hint, HasSubstr("XDG_CACHE_HOME"));
  }
}

// CASES C08: a random uid without rights to the home it was given.
TEST(Home, AHomeOfSomebodyElse) {
  const ScratchFolder folder;
  ASSERT_EQ(::chmod(folder.path().c_str(), 0555), 0);
  const Environment home("HOME", folder.path().c_str());
  const Environment xdg("XDG_CACHE_HOME", nullptr);
  const pid_t pid = in_child([&] {
    if (::getuid() == 0 && ::setuid(54321) != 0) ::_exit(43);  // root may write anywhere
    const auto result = cache_home();
    ::_exit(!result && result.error().code == ErrorCode::environment ? 42 : 1);
  });
  const int code = WEXITSTATUS(status_of(pid));
  ::chmod(folder.path().c_str(), 0755);
  if (code == 43) GTEST_SKIP() << "cannot change the user id here";
  EXPECT_EQ(code, 42);
}

}  // namespace
}  // namespace tilewright
