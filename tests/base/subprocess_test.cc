// SPDX-License-Identifier: Apache-2.0
// Child processes that behave and that do not: they hang, flood, fork, crash, or are not there.
#include "base/subprocess.h"

#include "base/file.h"
#include "base/text.h"
#include "scratch_folder.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

namespace tilewright {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using ::testing::HasSubstr;

Command shell(const std::string& script) {
  Command command;
  command.argv = {"sh", "-c", script};
  return command;
}

// The state letter of a process: 'T' stopped, 'Z' dead but unreaped, 0 gone.
char state_of(pid_t pid) {
  const auto stat = read_file(fmt::format("/proc/{}/stat", pid));
  if (!stat) return 0;
  const auto name_end = stat->rfind(')');  // the name may hold blanks and parentheses
  return name_end + 2 < stat->size() ? (*stat)[name_end + 2] : '\0';
}
bool is_dead(pid_t pid) {
  return state_of(pid) == 0 || state_of(pid) == 'Z';
}

// A signal is delivered soon, not at once.
bool dies(pid_t pid) {
  for (int i = 0; i < 2000 && !is_dead(pid); ++i) std::this_thread::sleep_for(5ms);
  return is_dead(pid);
}

std::vector<pid_t> pids_in(const std::string& text) {
  std::vector<pid_t> pids;
  for (const auto word : words(text)) {
    if (const auto pid = parse_integer(word)) pids.push_back(static_cast<pid_t>(*pid));
  }
  return pids;
}

TEST(Subprocess, OutputAndExitCode) {
  const auto done = run(shell("echo out; echo err >&2; exit 3"));
  ASSERT_TRUE(done);
  EXPECT_EQ(done->exit_code, 3);
  EXPECT_EQ(done->signal, 0);
  EXPECT_EQ(done->output, "out\nerr\n");
  EXPECT_EQ(done->output_dropped, 0U);
  EXPECT_FALSE(done->timed_out || done->cancelled);
}

TEST(Subprocess, StandardInputIsEmpty) {
  const auto done = run(shell("cat; echo end"));
  ASSERT_TRUE(done);
  EXPECT_EQ(done->output, "end\n");
}

TEST(Subprocess, ArgumentsAreNotReadByAShell) {
  Command command;
  command.argv = {"printf", "%s|", "a b", "$HOME", "'", "*", ""};
  const auto done = run(command);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->output, "a b|$HOME|'|*||");
}

TEST(Subprocess, EnvironmentDirectoryAndMemory) {
  const ScratchFolder folder;
  auto command = shell("echo $TILEWRIGHT_TEST $HOME; pwd -P; ulimit -v; ulimit -c");
  command.environment = {"TILEWRIGHT_TEST=yes", "HOME=/replaced"};
  command.directory = folder.path();
  command.memory_limit = std::size_t{1} << 30;
  const auto done = run(command);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->output,
            fmt::format("yes /replaced\n{}\n1048576\n0\n", fs::canonical(folder.path()).string()));
}

TEST(Subprocess, WhatCannotStartIsAnErrorThatNamesIt) {  // CASES C19: the compiler is missing
  const ScratchFolder folder;
  ASSERT_TRUE(write_file_atomically(folder.path() / "not-executable", "#!/bin/sh\n"));
  ASSERT_TRUE(write_file_atomically(folder.path() / "no-program", "not a program"));
  fs::permissions(folder.path() / "no-program", fs::perms::owner_all);
  for (const std::string& program :
       {std::string("no-such-program-tilewright"), std::string("/no/such/program"),
        (folder.path() / "not-executable").string(), (folder.path() / "no-program").string()}) {
    Command command;
    command.argv = {program};
    const auto done = run(command);
    ASSERT_FALSE(done) << program;
    EXPECT_EQ(done.error().code, ErrorCode::environment);
    EXPECT_THAT(done.error().message, HasSubstr(program));
  }
  auto command = shell("true");
  command.directory = folder.path() / "missing";
  const auto done = run(command);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("directory"));
  EXPECT_FALSE(run(Command{}));
}

TEST(Subprocess, SignalsAreReported) {  // CASES B22
  const auto done = run(shell("kill -SEGV $$"));
  ASSERT_TRUE(done);
  EXPECT_EQ(done->signal, SIGSEGV);
  EXPECT_FALSE(done->timed_out);
}

// CASES B21, C19: a hang is killed with its group, also if it ignores every signal it can.
TEST(Subprocess, AHangIsKilledWithItsGroup) {
  auto command = shell("trap '' TERM INT HUP; sleep 1000 & sleep 1000 & echo $$ $!; wait; wait");
  command.limit = 300ms;
  const auto done = run(command);
  ASSERT_TRUE(done);
  EXPECT_TRUE(done->timed_out);
  EXPECT_EQ(done->signal, SIGKILL);
  EXPECT_GE(done->wall, 300ms);
  const auto pids = pids_in(done->output);
  ASSERT_EQ(pids.size(), 2U);
  for (const auto pid : pids) EXPECT_TRUE(dies(pid)) << pid;
}

// CASES B22: children left behind by a program that ended well.
TEST(Subprocess, LeftoversAreKilled) {
  const auto done =
      run(shell("i=0; while [ $i -lt 40 ]; do sleep 1000 & echo $!; i=$((i+1)); done"));
  ASSERT_TRUE(done);
  EXPECT_EQ(done->exit_code, 0);
  const auto pids = pids_in(done->output);
  ASSERT_EQ(pids.size(), 40U);
  for (const auto pid : pids) EXPECT_TRUE(dies(pid)) << pid;
}

// Generations of shells that fork shells, all within the group.
TEST(Subprocess, AForkingFamilyIsKilled) {
  auto command = shell(
      "f() { sleep 1000 & echo $!; n=$1; while [ $n -gt 0 ]; do n=$((n-1)); (f $n) & done; wait; };"
      "f 5");
  command.limit = 700ms;
  const auto done = run(command);
  ASSERT_TRUE(done);
  EXPECT_TRUE(done->timed_out);
  const auto pids = pids_in(done->output);
  EXPECT_GT(pids.size(), 1U);  // 32 unless the machine is very slow
  for (const auto pid : pids) EXPECT_TRUE(dies(pid)) << pid;
}

TEST(Subprocess, AFloodIsCappedAndCounted) {
  auto command = shell("head -c 3000000 /dev/zero | tr '\\0' x");
  command.output_cap = 1000;
  const auto done = run(command);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->output, std::string(1000, 'x'));
  EXPECT_EQ(done->output_dropped, 2999000U);
}

TEST(Subprocess, AnEndlessFloodMeetsTheLimit) {
  Command command;
  command.argv = {"yes"};
  command.output_cap = 100;
  command.limit = 200ms;
  const auto done = run(command);
  ASSERT_TRUE(done);
  EXPECT_TRUE(done->timed_out);
  EXPECT_EQ(done->output.size(), 100U);
  EXPECT_GT(done->output_dropped, 0U);
}

TEST(Subprocess, ClosedStreamsDoNotHideTheExit) {
  const auto done = run(shell("exec >&- 2>&-; sleep 0.1; exit 5"));
  ASSERT_TRUE(done);
  EXPECT_EQ(done->exit_code, 5);
}

TEST(Subprocess, CancelKills) {  // CASES C06
  int calls = 0;
  Supervision supervision;
  supervision.cancel = [&] { return ++calls > 2; };
  const auto done = run(shell("echo $$; sleep 1000"), supervision);
  ASSERT_TRUE(done);
  EXPECT_TRUE(done->cancelled);
  EXPECT_FALSE(done->timed_out);
  EXPECT_EQ(done->signal, SIGKILL);
  EXPECT_EQ(calls, 3);
}

// Paused longer than the limit allows to run, and the limit is not exceeded.
TEST(Subprocess, APausedChildStandsStillAndItsClockToo) {
  const ScratchFolder folder;
  const auto file = folder.path() / "pid";
  // Once there is a pid the shell starts nothing more: stopped between vfork and exec, a child
  // would leave it in state D.
  auto command = shell("echo $$ > pid.new; sleep 0.2 & mv pid.new pid; wait; echo done");
  command.directory = folder.path();
  command.limit = 1500ms;
  std::optional<std::chrono::steady_clock::time_point> since;
  bool seen_stopped = false;
  Supervision supervision;
  supervision.pause = [&] {
    const auto pid = read_file(file);
    if (!pid) return false;
    const auto now = std::chrono::steady_clock::now();
    if (!since) since = now;
    seen_stopped = seen_stopped || state_of(pids_in(*pid).at(0)) == 'T';
    return now - *since < 2000ms;
  };
  const auto done = run(command, supervision);
  ASSERT_TRUE(done);
  EXPECT_FALSE(done->timed_out);
  EXPECT_EQ(done->exit_code, 0);
  EXPECT_EQ(done->output, "done\n");
  EXPECT_TRUE(seen_stopped);
  EXPECT_LT(done->wall, 1500ms);  // the limit it was given, not a speed
}

TEST(Subprocess, APausedChildCanBeCancelled) {
  int calls = 0;
  Supervision supervision;
  supervision.pause = [] { return true; };
  supervision.cancel = [&] { return ++calls > 3; };
  const auto done = run(shell("sleep 1000"), supervision);
  ASSERT_TRUE(done);
  EXPECT_TRUE(done->cancelled);
}

TEST(Subprocess, DiesWithItsParent) {
  const ScratchFolder folder;
  const auto file = folder.path() / "pid";
  const pid_t parent = ::fork();
  if (parent == 0) {
    auto command = shell("echo $$ > pid.new; mv pid.new pid; exec sleep 1000");
    command.directory = folder.path();
    (void)run(command);
    ::_exit(0);
  }
  while (!fs::exists(file)) std::this_thread::sleep_for(5ms);
  const pid_t child = pids_in(read_file(file).value()).at(0);
  EXPECT_FALSE(is_dead(child));
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  EXPECT_TRUE(dies(child));
}

TEST(Subprocess, ManyThreadsAtOnceAndNoDescriptorLeaks) {
  const auto open_files = [] { return std::distance(fs::directory_iterator("/proc/self/fd"), {}); };
  const auto before = open_files();
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([t] {
        for (int i = 0; i < 25; ++i) {
          const auto done = run(shell(fmt::format("echo {} {}", t, i)));
          ASSERT_TRUE(done);
          EXPECT_EQ(done->output, fmt::format("{} {}\n", t, i));
          Command missing;
          missing.argv = {"/no/such/program"};
          EXPECT_FALSE(run(missing));
        }
      });
    }
  }
  EXPECT_EQ(open_files(), before);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);  // and no zombies
}

TEST(Subprocess, ChildrenGetNoDescriptorsOfOurs) {
  const int leaked = ::dup(2);  // without O_CLOEXEC, as other libraries do
  const auto done = run(shell("ls /proc/self/fd | wc -l"));
  ::close(leaked);
  ASSERT_TRUE(done);
  EXPECT_EQ(parse_integer(trim(done->output)), 4);  // 0, 1, 2 and the folder that ls reads
}

TEST(FindProgram, LooksInPath) {
  const auto sh = find_program("sh");
  ASSERT_TRUE(sh);
  EXPECT_TRUE(fs::exists(*sh));
  EXPECT_EQ(find_program(sh->string()), sh);
  EXPECT_FALSE(find_program("no-such-program-tilewright"));
  EXPECT_FALSE(find_program(""));
  EXPECT_FALSE(find_program("/etc"));
}

}  // namespace
}  // namespace tilewright
