// SPDX-License-Identifier: Apache-2.0
// Many processes, one cache: races for one key, and processes that are killed at any point. Case
// C03 of the public record.
#include "base/rng.h"
#include "compile/cache.h"
#include "compile/candidates.h"
#include "compile/inspect.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

namespace tilewright {
namespace {

namespace fs = std::filesystem;
using ::testing::Each;
using ::testing::IsEmpty;

// Numbers that forked processes share.
struct Shared {
  std::atomic<int> arrived = 0, compiled = 0;
};

class SharedPage {
 public:
  SharedPage() {
    void* page =
        ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    shared_ = new (page) Shared;
  }
  SharedPage(const SharedPage&) = delete;
  SharedPage& operator=(const SharedPage&) = delete;
  ~SharedPage() { ::munmap(shared_, sizeof(Shared)); }
  Shared* operator->() const { return shared_; }
  Shared& operator*() const { return *shared_; }

 private:
  Shared* shared_;
};

class Processes : public ::testing::Test {
 protected:
  // Made before the first fork: a child would make its own and, by _exit(), never remove it.
  void SetUp() override { (void)quick_compiler(); }
  [[nodiscard]] fs::path root() const { return folder_.path() / "cache"; }
  CompileOptions options() const {
    auto with = caching_in(root());
    with.compiler = quick_compiler();
    return with;
  }
  // Starts `work` in `count` processes; each exits with what it returns.
  template <class Work>
  static std::vector<pid_t> start(int count, const Work& work) {
    std::vector<pid_t> children;
    for (int i = 0; i < count; ++i) {
      const pid_t child = ::fork();
      if (child == 0) ::_exit(work(i));
      children.push_back(child);
    }
    return children;
  }
  static std::vector<int> statuses(const std::vector<pid_t>& children) {
    std::vector<int> found;
    for (const pid_t child : children) {
      int status = -1;
      ::waitpid(child, &status, 0);
      found.push_back(status);
    }
    return found;
  }

  ScratchFolder folder_;
};

// Whether `made` is a whole object.
bool is_whole(const CompileResult& made) {
  if (!made.binary) return false;
  const auto object = read_file(made.binary->path);
  return object && inspect(*object, "tw_kernel", true).finding.ok();
}

// Compiles `number` by a new Compiler and looks at what it got: whole, with no warning on the way.
bool compiles(const CompileOptions& with, int number, Shared& shared) {
  bool warned = false;
  auto own = with;
  own.warn = [&](const std::string&) { warned = true; };
  auto cpp = Compiler::create(own);
  if (!cpp) return false;
  const auto made = cpp->compile(numbered(number));
  shared.compiled += made.binary && !made.binary->from_cache;
  return is_whole(made) && !warned;
}

// Waits until all of `count` processes have come here for the `time`-th time.
void meet(Shared& shared, int count, int time) {
  ++shared.arrived;
  while (shared.arrived < count * time) std::this_thread::sleep_for(std::chrono::microseconds(50));
}

TEST_F(Processes, EightRaceForOneKey) {
  constexpr int kProcesses = 8, kRounds = 50, kRoundsOfACompiler = 10;
  SharedPage shared;
  const auto racers = start(kProcesses, [&](int) {
    int warnings = 0, failures = 0;
    auto own = options();
    own.warn = [&](const std::string&) { ++warnings; };
    std::optional<Compiler> cpp;
    for (int round = 0; round < kRounds; ++round) {
      if (round % kRoundsOfACompiler == 0) cpp = *Compiler::create(own);
      meet(*shared, kProcesses, round + 1);
      const auto made = cpp->compile(numbered(round));
      shared->compiled += made.binary && !made.binary->from_cache;
      failures += !is_whole(made);
    }
    cpp.reset();  // _exit() destroys nothing
    return std::min(warnings + failures, 100);
  });
  EXPECT_THAT(statuses(racers), Each(0));
  EXPECT_GE(shared->compiled, kRounds);
  EXPECT_EQ(count_in(root() / "v1/cpu"), std::size_t{kRounds});
  EXPECT_THAT(children(root() / "v1/scratch"), IsEmpty());
  EXPECT_THAT(children(root() / "v1/holds"), IsEmpty());
  EXPECT_THAT(children(root() / "v1/aside"), IsEmpty());
}

TEST_F(Processes, TheRealCompilerRacesAlike) {
  auto with = options();
  with.compiler.clear();
  SharedPage shared;
  const auto children = start(8, [&](int) {
    meet(*shared, 8, 1);
    return compiles(with, 7, *shared) ? 0 : 1;
  });
  EXPECT_THAT(statuses(children), Each(0));
  EXPECT_EQ(count_in(root() / "v1/cpu"), 1U);
}

// Damage while others look: some process sets the entry aside, and none of them fails.
TEST_F(Processes, EightMeetADamagedEntry) {
  for (int round = 0; round < 10; ++round) {
    const auto made = Compiler::create(options())->compile(numbered(round));
    ASSERT_TRUE(made.binary);
    ASSERT_TRUE(put(made.binary->path.parent_path(), kCpuEntry.object, "damaged"));
    SharedPage shared;
    const auto children = start(8, [&](int) {
      meet(*shared, 8, 1);
      return is_whole(Compiler::create(options())->compile(numbered(round))) ? 0 : 1;
    });
    EXPECT_THAT(statuses(children), Each(0)) << "round " << round;
    EXPECT_EQ(count_in(root() / "v1/aside"), static_cast<std::size_t>(round) + 1);
  }
}

// Evicting while others use: nobody's binary disappears, everybody's stays whole.
TEST_F(Processes, EvictionSparesWhatIsInUse) {
  SharedPage shared;
  const auto children = start(4, [&](int process) {
    auto with = options();
    with.cache_cap_bytes = 1;
    auto cpp = Compiler::create(with);
    std::vector<fs::path> used;
    for (int i = 0; i < 40; ++i) {
      const auto made = cpp->compile(numbered((i * 7 + process) % 10));
      if (!made.binary) return 1;
      used.push_back(made.binary->path);
      std::error_code ignored;  // make it look long unused
      fs::last_write_time(made.binary->path.parent_path(),
                          fs::file_time_type::clock::now() - std::chrono::hours(1), ignored);
      for (const auto& path : used) {
        if (!fs::exists(path)) return 2;
      }
    }
    return 0;
  });
  EXPECT_THAT(statuses(children), Each(0));
}

// Killed in mid-compile: what is left blocks nobody and is cleaned by the next to come.
TEST_F(Processes, AKilledCompilationLeavesNothingThatBlocks) {
  auto slow = options();
  slow.compiler = script(folder_.path(), "slow", "echo > started; exec sleep 1000");
  const auto running = start(1, [&](int) {
    auto cpp = Compiler::create(slow);
    (void)cpp->compile(numbered(1));
    return 0;
  });
  const fs::path scratch = root() / "v1/scratch";
  const auto started = [&] {
    for (const auto& folder : children(scratch)) {
      if (fs::exists(folder / "started")) return true;
    }
    return false;
  };
  while (!started()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  {
    // Alive: nobody may take its folder away.
    auto other = Compiler::create(options());
    EXPECT_TRUE(other->compile(numbered(2)).binary);
    EXPECT_TRUE(started());
  }
  ::kill(running[0], SIGKILL);
  EXPECT_TRUE(WIFSIGNALED(statuses(running)[0]));
  EXPECT_EQ(count_in(scratch), 1U);
  EXPECT_EQ(count_in(root() / "v1/holds"), 1U);
  auto next = Compiler::create(options());
  ASSERT_TRUE(next) << next.error().message;
  EXPECT_EQ(count_in(scratch), 0U);
  EXPECT_EQ(count_in(root() / "v1/holds"), 1U) << "its own";
  EXPECT_TRUE(next->compile(numbered(1)).binary);
}

// Kills at random points of a compile: an entry is there whole or not at all.
TEST_F(Processes, KilledAtAnyPointAnEntryIsWholeOrAbsent) {
  SharedPage warm_up;
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_TRUE(compiles(options(), 0, *warm_up));
  const auto once = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::steady_clock::now() - begin);
  Rng rng(3);
  int absent = 0, whole = 0, late = 0;
  // On a busy machine the first kills may all come too early: go on until both have been met.
  for (int round = 0; round < 25 || ((absent == 0 || whole == 0) && round < 500); ++round) {
    fs::remove_all(root() / "v1/cpu");
    const auto child = start(1, [&](int) {
      auto cpp = Compiler::create(options());
      for (int i = 0; cpp; ++i) (void)cpp->compile(numbered(i));
      return 0;
    });
    const auto most = static_cast<std::uint64_t>(once.count() * 4 + 1);
    std::this_thread::sleep_for(std::chrono::microseconds(rng.below(most)));
    ::kill(child[0], SIGKILL);
    statuses(child);
    const auto entries = children(root() / "v1/cpu");
    for (const auto& entry : entries) {
      const auto read = read_entry(entry, entry.filename().string());
      EXPECT_TRUE(read) << entry << ": " << read.error().message;
    }
    (entries.empty() ? absent : whole) += 1;
    SharedPage shared;
    EXPECT_TRUE(compiles(options(), 0, *shared)) << "round " << round;
    // A compiler that was just being started shares the lock of its killed parent until it is gone
    // as well; whoever comes after that cleans up.
    for (int i = 0; i < 1000 && count_in(root() / "v1/scratch") != 0; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      ++late;
      EXPECT_TRUE(Cache::open(root(), 1 << 30, {}));
    }
    EXPECT_THAT(children(root() / "v1/scratch"), IsEmpty());
  }
  EXPECT_GT(whole, 0);
  EXPECT_GT(absent, 0);
  RecordProperty("cleaned_late", late);
}

// A private folder in the place for temporary files, left by a killed process.
TEST_F(Processes, PrivateFoldersOfTheDeadAreRemoved) {
  const fs::path temporary = folder_.path() / "tmp";
  fs::create_directory(temporary);
  ASSERT_EQ(::setenv("TMPDIR", temporary.c_str(), 1), 0);
  auto with = options();
  with.cache_directory = "/dev/null/nowhere";
  const auto child = start(1, [&](int) {
    auto cpp = Compiler::create(with);
    ::raise(SIGKILL);
    return 0;
  });
  statuses(child);
  EXPECT_EQ(count_in(temporary), 1U);
  {
    auto next = Compiler::create(with);
    ASSERT_TRUE(next) << next.error().message;
    EXPECT_EQ(count_in(temporary), 1U) << "its own";
    auto another = Compiler::create(with);
    ASSERT_TRUE(another) << another.error().message;
    EXPECT_EQ(count_in(temporary), 2U);
    EXPECT_TRUE(next->compile(numbered(1)).binary);
  }
  EXPECT_EQ(count_in(temporary), 0U);
  ::unsetenv("TMPDIR");
}

}  // namespace
}  // namespace tilewright
