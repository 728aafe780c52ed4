// SPDX-License-Identifier: Apache-2.0
// Candidates that misbehave (cases B03, B05, B21, B22): each ends as the finding meant for it,
// leaves no process behind, and the next candidate of the same worker computes a right product.
#include "execute/candidates.h"
#include "execute/session.h"

#include <gmock/gmock.h>

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <set>
#include <sstream>
#include <vector>

namespace tilewright {
namespace {

using ::testing::HasSubstr;

// All processes below this one, from /proc/<pid>/stat: "pid (name) state parent ...".
std::set<int> descendants() {
  std::vector<std::pair<int, int>> parents;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "stat");
    std::string text;
    if (!std::getline(file, text) || text.find(')') == std::string::npos) continue;
    std::istringstream rest(text.substr(text.rfind(')') + 1));
    std::string state;
    int parent = 0;
    rest >> state >> parent;
    parents.emplace_back(std::atoi(text.c_str()), parent);
  }
  std::set<int> found = {getpid()};
  for (std::size_t size = 0; size != found.size();) {
    size = found.size();
    for (const auto& [pid, parent] : parents) {
      if (found.contains(parent)) found.insert(pid);
    }
  }
  found.erase(getpid());
  return found;
}

struct Fault {
  const char* name;
  Outcome outcome;
  const char* rule;    // exact
  const char* detail;  // a part
  const char* text;    // of the candidate
  int threads = 1;
};

std::ostream& operator<<(std::ostream& out, const Fault& fault) {
  return out << fault.name;
}

constexpr const char* kForbidden = "forbidden-syscall";

const Fault kFaults[] = {
    // B03: work after the return, elsewhere.
    {"Thread", Outcome::cheat, kForbidden, "clone",
     "static void* run(void*) { return 0; }\n"
     "KERNEL { pthread_t t; pthread_create(&t, 0, run, 0); plain(x, team); }"},
    {"Fork", Outcome::cheat, kForbidden, "clone", "KERNEL { fork(); plain(x, team); }"},
    {"RawFork", Outcome::cheat, kForbidden, "fork", "KERNEL { syscall(SYS_fork); }"},
    {"Exec", Outcome::cheat, kForbidden, "execve",
     "KERNEL { execl(\"/bin/true\", \"true\", (char*)0); }"},
    {"System", Outcome::cheat, kForbidden, "", "KERNEL { system(\"true\"); }"},
    // B22: ends the process one way or another.
    {"ExitZero", Outcome::crash, "exit-without-result", "exit code 0", "KERNEL { exit(0); }"},
    {"ExitSeven", Outcome::crash, "exit-without-result", "exit code 7", "KERNEL { exit(7); }"},
    {"UnderscoreExit", Outcome::crash, "exit-without-result", "exit code 0",
     "KERNEL { _exit(0); }"},
    {"ExitInAWorker", Outcome::crash, "exit-without-result", "exit code 0",
     "KERNEL { if (team->thread == 1) _exit(0); team->barrier(team->state); }", 2},
    {"Abort", Outcome::crash, "signal:SIGABRT", "", "KERNEL { abort(); }"},
    {"Segfault", Outcome::crash, "signal:SIGSEGV", "", "KERNEL { *(volatile int*)8 = 1; }"},
    {"SegfaultInAWorker", Outcome::crash, "signal:SIGSEGV", "",
     "KERNEL { if (team->thread == 1) *(volatile int*)8 = 1; team->barrier(team->state); }", 2},
    {"Illegal", Outcome::crash, "signal:SIGILL", "", "KERNEL { __builtin_trap(); }"},
    {"DivideByZero", Outcome::crash, "signal:SIGFPE", "",
     "KERNEL { volatile int zero = 0; *(int*)x->c = 7 / zero; }"},
    {"InfiniteRecursion", Outcome::crash, "signal:SIGSEGV", "",
     "static int deep(volatile char* p) { volatile char more[4096]; more[0] = p[0]; "
     "return deep(more) + more[1]; }\n"
     "KERNEL { char c = 1; *(int*)x->c = deep(&c); }"},
    {"Throws", Outcome::crash, "signal:SIGABRT", "", "KERNEL { throw 1; }"},
    {"KillsItself", Outcome::cheat, kForbidden, "kill", "KERNEL { kill(getpid(), SIGKILL); }"},
    {"Raises", Outcome::crash, "signal:SIGTERM", "", "KERNEL { raise(SIGTERM); }"},
    // B21: does not come back.
    {"Hang", Outcome::run_timeout, "call-limit", "1000 ms",
     "KERNEL { for (volatile int i = 0;;) ++i; }"},
    {"HangInAWorker", Outcome::run_timeout, "call-limit", "1000 ms",
     "KERNEL { if (team->thread == 1) for (volatile int i = 0;;) ++i; }", 2},
    {"BarrierThatNobodyMeets", Outcome::run_timeout, "call-limit", "1000 ms",
     "KERNEL { if (team->thread == 0) team->barrier(team->state); }", 2},
    {"Sleeps", Outcome::run_timeout, "call-limit", "1000 ms", "KERNEL { sleep(100); }"},
    {"ThreadExits", Outcome::run_timeout, "call-limit", "1000 ms",
     "KERNEL { if (team->thread == 1) pthread_exit(0); }", 2},
    // Reaching out.
    {"WritesAFile", Outcome::cheat, kForbidden, "openat",
     "KERNEL { fopen(\"/tmp/tilewright-was-here\", \"w\"); }"},
    {"ReadsAFile", Outcome::cheat, kForbidden, "openat",
     "KERNEL { open(\"/etc/passwd\", O_RDONLY); }"},
    {"Unlinks", Outcome::cheat, kForbidden, "unlink",
     "KERNEL { unlink(\"/tmp/tilewright-none\"); }"},
    {"Socket", Outcome::cheat, kForbidden, "socket", "KERNEL { socket(AF_INET, SOCK_STREAM, 0); }"},
    {"KillsItsParent", Outcome::cheat, kForbidden, "kill", "KERNEL { kill(getppid(), SIGKILL); }"},
    {"KillsEverybody", Outcome::cheat, kForbidden, "kill", "KERNEL { kill(-1, SIGTERM); }"},
    {"SignalsItsParent", Outcome::cheat, kForbidden, "tgkill",
     "KERNEL { syscall(SYS_tgkill, getppid(), getppid(), SIGKILL); }"},
    {"Traces", Outcome::cheat, kForbidden, "process_vm_writev",
     "KERNEL { syscall(SYS_process_vm_writev, getppid(), 0, 0, 0, 0, 0); }"},
    {"CatchesSignals", Outcome::cheat, kForbidden, "rt_sigaction",
     "KERNEL { signal(SIGSYS, SIG_IGN); }"},
    {"MakesCode", Outcome::cheat, kForbidden, "mmap",
     "KERNEL { mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, "
     "0); }"},
    {"PatchesCode", Outcome::cheat, kForbidden, "mprotect",
     "KERNEL { mprotect((void*)((size_t)&tw_kernel & ~4095ul), 4096, PROT_READ | PROT_WRITE | "
     "PROT_EXEC); }"},
    {"KeepsItsParentUnaware", Outcome::cheat, kForbidden, "prctl",
     "KERNEL { prctl(PR_SET_PDEATHSIG, 0); }"},
    {"IoUring", Outcome::cheat, kForbidden, "io_uring_setup",
     "KERNEL { syscall(SYS_io_uring_setup, 8, 0); }"},
#if defined(__x86_64__)
    {"ThirtyTwoBitFork", Outcome::cheat, kForbidden, "foreign ABI",
     "KERNEL { int r; asm volatile(\"int $0x80\" : \"=a\"(r) : \"a\"(2) : \"memory\"); }"},
#endif
    {"ForbiddenInAWorker", Outcome::cheat, kForbidden, "socket",
     "KERNEL { if (team->thread == 1) socket(AF_INET, SOCK_STREAM, 0); }", 2},
    {"ForbiddenWithSigsysBlocked", Outcome::cheat, kForbidden, "",
     "KERNEL { sigset_t all; sigfillset(&all); sigprocmask(SIG_BLOCK, &all, 0); "
     "socket(AF_INET, SOCK_STREAM, 0); }"},
    // B05: writes results itself.
    {"ForgesALine", Outcome::cheat, "protocol", "forged",
     "KERNEL { const char* line = \"{\\\"seq\\\":1,\\\"nonce\\\":\\\"\\\"}\\n\"; "
     "for (int fd = 3; fd < 64; ++fd) write(fd, line, strlen(line)); plain(x, team); }"},
    {"ForgesALineAndLeaves", Outcome::cheat, "protocol", "forged",
     "KERNEL { const char* line = \"{\\\"seq\\\":2,\\\"nonce\\\":\\\"0\\\"}\\n\"; "
     "for (int fd = 3; fd < 64; ++fd) write(fd, line, strlen(line)); _exit(0); }"},
    {"WritesHalfALine", Outcome::cheat, "protocol", "",
     "KERNEL { for (int fd = 3; fd < 64; ++fd) write(fd, \"{\", 1); plain(x, team); }"},
    {"WritesHalfALineAndHangs", Outcome::cheat, "protocol", "half a line",
     "KERNEL { for (int fd = 3; fd < 64; ++fd) write(fd, \"{\", 1); for (volatile int i = 0;;) "
     "++i; }"},
    {"WritesEmptyLines", Outcome::cheat, "protocol", "",
     "KERNEL { for (int fd = 3; fd < 64; ++fd) write(fd, \"\\n\", 1); plain(x, team); }"},
};

class FaultTest : public ::testing::TestWithParam<Fault> {
 protected:
  // One worker for all: that it survives every one of them is the point. A second one with a short
  // limit for those that hang; the first has so long a limit that a busy machine does not matter.
  static std::unique_ptr<Worker> start(std::chrono::milliseconds limit) {
    WorkerOptions options = test_options();
    options.call_limit = limit;
    auto started = Worker::start(options, detect_cpu());
    EXPECT_TRUE(started) << started.error().message;
    return std::make_unique<Worker>(std::move(*started));
  }
  static void SetUpTestSuite() {
    worker = start(std::chrono::seconds(60));
    hasty = start(std::chrono::milliseconds(1000));
    arena = std::make_unique<Arena>(std::move(*Arena::create(test_problem(), 1, 256)));
    fill(*arena);
    good = std::make_unique<Binary>(build("KERNEL { plain(x, team); }", 2));
  }
  static void TearDownTestSuite() {
    worker.reset();
    hasty.reset();
    EXPECT_TRUE(descendants().empty());
    arena.reset();
    good.reset();
  }
  static void expect_good_candidate_works(Worker& with) {
    auto opened = with.open(*arena, good.get(), {});
    ASSERT_TRUE(opened) << opened.error().message;
    ASSERT_TRUE(opened->finding.ok()) << opened->finding.rule << opened->finding.detail;
    std::ranges::fill(arena->c(0), std::byte{0xff});
    const Finding finding = opened->session->call("candidate", 0);
    ASSERT_TRUE(finding.ok()) << finding.rule << finding.detail;
    for (std::int64_t i = 0; i < 12; ++i) {
      for (std::int64_t j = 0; j < 20; ++j) {
        ASSERT_EQ(load(ElementType::f32, arena->c(0).data(), i * 20 + j),
                  product(*arena, 0, 0, i, j, 16));
      }
    }
  }
  static bool has_seccomp() {
    const auto& in_force = worker->facts().isolation;
    return std::ranges::find(in_force, "seccomp") != in_force.end();
  }
  static std::unique_ptr<Worker> worker, hasty;
  static std::unique_ptr<Arena> arena;
  static std::unique_ptr<Binary> good;
};
std::unique_ptr<Worker> FaultTest::worker, FaultTest::hasty;
std::unique_ptr<Arena> FaultTest::arena;
std::unique_ptr<Binary> FaultTest::good;

TEST_P(FaultTest, IsFoundAndLeavesNothing) {
  const Fault& fault = GetParam();
  if (fault.rule == std::string_view(kForbidden) && !has_seccomp()) {
    GTEST_SKIP() << worker->facts().missing;
  }
  const std::set<int> before = descendants();
  const Binary binary = build(fault.text, fault.threads);
  const bool hangs =
      fault.outcome == Outcome::run_timeout || std::string_view(fault.detail) == "half a line";
  Worker& used = hangs ? *hasty : *worker;
  auto opened = used.open(*arena, &binary, {});
  ASSERT_TRUE(opened) << opened.error().message;
  ASSERT_TRUE(opened->session) << opened->finding.rule << opened->finding.detail;
  const Finding finding = opened->session->call("candidate", 0);
  EXPECT_EQ(finding.outcome, fault.outcome) << finding.rule << ": " << finding.detail;
  EXPECT_EQ(finding.rule, fault.rule) << finding.detail;
  EXPECT_THAT(finding.detail, HasSubstr(fault.detail));
  // Gone before the session is: nothing of it runs beside the next.
  EXPECT_EQ(descendants(), before);
  // The session stays ended, for the reason that ended it.
  EXPECT_EQ(opened->session->call("candidate", 0).rule, finding.rule);
  EXPECT_EQ(opened->session->time({{.contestant = "candidate"}}).finding.rule, finding.rule);
  opened->session.reset();
  expect_good_candidate_works(used);
  EXPECT_FALSE(std::filesystem::exists("/tmp/tilewright-was-here"));
}

INSTANTIATE_TEST_SUITE_P(All, FaultTest, ::testing::ValuesIn(kFaults),
                         [](const auto& fault) { return std::string(fault.param.name); });

// The same faults in the timed part.
TEST_F(FaultTest, WhileTiming) {
  const Binary binary = build(
      "KERNEL { int* n = (int*)x->workspace; plain(x, team); "
      "if (++*n == 5) for (volatile int i = 0;;) ++i; }");
  for (std::byte& b : arena->workspace()) b = std::byte{0};
  auto opened = hasty->open(*arena, &binary, {});
  ASSERT_TRUE(opened && opened->session);
  ASSERT_TRUE(opened->session->call("candidate", 0).ok());
  const TimingReply reply = opened->session->time({{.contestant = "candidate", .calls = 50}});
  EXPECT_EQ(reply.finding.outcome, Outcome::run_timeout);
  EXPECT_TRUE(reply.samples.empty());
  opened->session.reset();
  expect_good_candidate_works(*hasty);
}

struct LoadFault {
  const char* name;
  Outcome outcome;
  const char* rule;
  const char* detail;
  const char* text;
};

const LoadFault kLoadFaults[] = {
    {"ConstructorExits", Outcome::crash, "exit-without-result", "exit code 0",
     "__attribute__((constructor)) static void now() { _exit(0); } KERNEL {}"},
    {"ConstructorForks", Outcome::cheat, kForbidden, "clone",
     "__attribute__((constructor)) static void now() { fork(); } KERNEL {}"},
    {"ConstructorStartsAThread", Outcome::cheat, kForbidden, "clone",
     "static void* run(void*) { for (;;) pause(); }\n"
     "__attribute__((constructor)) static void now() { pthread_t t; pthread_create(&t, 0, run, 0); "
     "}"
     " KERNEL {}"},
    {"ConstructorHangs", Outcome::run_timeout, "call-limit", "loading",
     "__attribute__((constructor)) static void now() { for (volatile int i = 0;;) ++i; } KERNEL "
     "{}"},
    {"ConstructorCrashes", Outcome::crash, "signal:SIGSEGV", "loading",
     "__attribute__((constructor)) static void now() { *(volatile int*)8 = 1; } KERNEL {}"},
    {"ConstructorWritesAFile", Outcome::cheat, kForbidden, "openat",
     "__attribute__((constructor)) static void now() { open(\"/tmp/tilewright-was-here\", "
     "O_WRONLY | O_CREAT, 0600); } KERNEL {}"},
    {"ConstructorCatchesSignals", Outcome::cheat, kForbidden, "rt_sigaction",
     "__attribute__((constructor)) static void now() { signal(SIGSYS, SIG_IGN); } KERNEL {}"},
    {"ConstructorForges", Outcome::cheat, "protocol", "",
     "__attribute__((constructor)) static void now() { "
     "for (int fd = 3; fd < 64; ++fd) write(fd, \"{}\\n\", 3); } KERNEL {}"},
    {"MissingSymbol", Outcome::launch_error, "missing-symbol", "tw_kernel",
     "extern \"C\" void other_kernel() {}"},
    {"UndefinedSymbol", Outcome::launch_error, "dlopen", "nobody_has_this",
     "extern \"C\" void nobody_has_this(); KERNEL { nobody_has_this(); }"},
};

TEST_F(FaultTest, WhileLoading) {
  for (const LoadFault& fault : kLoadFaults) {
    SCOPED_TRACE(fault.name);
    if (fault.rule == std::string_view(kForbidden) && !has_seccomp()) continue;
    const std::set<int> before = descendants();
    const Binary binary = build(fault.text);
    Worker& used = fault.outcome == Outcome::run_timeout ? *hasty : *worker;
    auto opened = used.open(*arena, &binary, {});
    ASSERT_TRUE(opened) << opened.error().message;
    EXPECT_EQ(opened->session, nullptr);
    EXPECT_EQ(opened->finding.outcome, fault.outcome);
    EXPECT_EQ(opened->finding.rule, fault.rule);
    EXPECT_THAT(opened->finding.detail, HasSubstr(fault.detail));
    EXPECT_EQ(descendants(), before);
  }
  expect_good_candidate_works(*worker);
}

TEST_F(FaultTest, FilesThatAreNoLibraries) {
  Binary binary;
  binary.path = scratch() / "no-such.so";
  auto opened = worker->open(*arena, &binary, {});
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->finding.outcome, Outcome::launch_error);
  EXPECT_THAT(opened->finding.detail, HasSubstr("no-such.so"));
  binary.path = scratch() / "text.so";
  std::ofstream(binary.path) << "this is no shared object\n";
  opened = worker->open(*arena, &binary, {});
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->finding.rule, "dlopen");
  expect_good_candidate_works(*worker);
}

// What a session may add to its memory is limited; the sanitizers need that room themselves.
TEST_F(FaultTest, MemoryIsLimited) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "no address space limit under a sanitizer";
#endif
  const Binary binary = build(
      "KERNEL { *(int*)x->c = malloc(9ul << 30) == 0; ((int*)x->c)[1] = malloc(1 << 20) != 0; }");
  auto opened = worker->open(*arena, &binary, {});
  ASSERT_TRUE(opened && opened->session);
  ASSERT_TRUE(opened->session->call("candidate", 0).ok());
  const auto* const written = reinterpret_cast<const int*>(arena->c(0).data());
  EXPECT_EQ(written[0], 1);
  EXPECT_EQ(written[1], 1);
}

// Flushing subnormals would help the candidate's clock and spoil the next contestant's results.
TEST_F(FaultTest, TheFloatingPointStateIsRestored) {
#if defined(__x86_64__)
  const Binary binary = build(
      "KERNEL { int* c = (int*)x->c; c[0] = __builtin_ia32_stmxcsr() & 0x8040; "
      "__builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040); }");
  auto opened = worker->open(*arena, &binary, {});
  ASSERT_TRUE(opened && opened->session);
  for (int call = 0; call < 2; ++call) {
    ASSERT_TRUE(opened->session->call("candidate", 0).ok());
    EXPECT_EQ(*reinterpret_cast<const int*>(arena->c(0).data()), 0);
  }
#endif
}

// The runner itself is killed: the session ends with a finding, the next one has a new runner.
TEST_F(FaultTest, TheRunnerItselfDies) {
  auto opened = worker->open(*arena, good.get(), {});
  ASSERT_TRUE(opened && opened->session);
  for (const int pid : descendants()) kill(pid, SIGKILL);
  const Finding finding = opened->session->call("candidate", 0);
  EXPECT_EQ(finding.outcome, Outcome::crash);
  EXPECT_EQ(finding.rule, "runner-lost");
  opened->session.reset();
  expect_good_candidate_works(*worker);
  for (const int pid : descendants()) kill(pid, SIGKILL);  // and between sessions
  expect_good_candidate_works(*worker);
}

// A parent that dies without a word takes its runner and the session with it.
TEST(OrphanTest, NothingOutlivesTheParent) {
  const Binary binary = build("KERNEL { for (volatile int i = 0;;) ++i; }");
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const pid_t parent = fork();
  if (parent == 0) {
    close(ends[0]);
    auto worker = Worker::start(test_options(), detect_cpu());
    auto arena = Arena::create(test_problem(), 1, 0);
    if (!worker || !arena) _exit(1);
    auto opened = worker->open(*arena, &binary, {});
    if (!opened || !opened->session) _exit(1);
    const std::set<int> below = descendants();
    const std::vector<int> pids(below.begin(), below.end());
    const ssize_t written = write(ends[1], pids.data(), pids.size() * sizeof(int));
    if (written < 0) _exit(1);
    close(ends[1]);
    static_cast<void>(opened->session->call("candidate", 0));  // hangs
    _exit(0);
  }
  close(ends[1]);
  std::array<int, 16> pids{};
  const ssize_t bytes = read(ends[0], pids.data(), sizeof pids);
  close(ends[0]);
  ASSERT_GE(bytes, static_cast<ssize_t>(2 * sizeof(int)));  // the runner and its session
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  for (std::size_t i = 0; i < static_cast<std::size_t>(bytes) / sizeof(int); ++i) {
    const auto alive = [pid = pids[i]] {
      std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
      std::string text;
      return std::getline(file, text) && text.find(") Z") == std::string::npos;
    };
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (alive() && std::chrono::steady_clock::now() < give_up) usleep(10000);
    EXPECT_FALSE(alive()) << pids[i];
  }
}

}  // namespace
}  // namespace tilewright
