// SPDX-License-Identifier: Apache-2.0
#include "runtime/recorder.h"

#include "base/file.h"
#include "base/scratch_folder.h"
#include "problem/suite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

namespace tilewright::runtime {
namespace {

using ::testing::HasSubstr;

Problem problem(const std::string& text) {
  return parse_problem(text).value();
}

AskedProblems recorded(const std::filesystem::path& file) {
  const auto text = read_file(file);
  if (!text) return {};
  auto problems = parse_record(*text);
  EXPECT_TRUE(problems) << problems.error().message;
  return problems.value_or(AskedProblems{});
}

std::uint64_t calls_in(const AskedProblems& problems) {
  std::uint64_t sum = 0;
  for (const auto& [text, asked] : problems) sum += asked.calls;
  return sum;
}

TEST(Recorder, WritesWhatTuneReads) {
  const ScratchFolder folder;
  const auto file = folder.path() / "shapes.csv";
  const std::vector<std::string> texts = {
      "gemm 8x1024x3584 f16 acc=f32 nn",
      "gemm 1x64x64 bf16 acc=f32 nt out=f32 batch=4 lda=80 ldb=72 ldc=96 alpha=any beta=one",
      "gemm 1000x3x7 f16 acc=f16 tt beta=any",
  };
  {
    Recorder recorder(file);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      for (std::size_t calls = 0; calls <= i; ++calls) recorder.note(problem(texts[i]));
    }
    // Without work: nothing to tune.
    recorder.note({.m = 4, .n = 4, .k = 0});
    recorder.note({.m = std::int64_t{1} << 50, .n = 4, .k = 4});
    recorder.save();
  }
  const auto suite = parse_csv(read_file(file).value(), "shapes.csv");
  ASSERT_TRUE(suite) << suite.error().message;
  EXPECT_TRUE(suite->bad.empty());
  ASSERT_EQ(suite->entries.size(), texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {  // the most frequent first
    EXPECT_EQ(to_text(suite->entries[i].problem), texts[texts.size() - 1 - i]);
  }
  EXPECT_EQ(calls_in(recorded(file)), 6u);
}

TEST(Recorder, SavesOnlyWhatIsNew) {
  const ScratchFolder folder;
  const auto file = folder.path() / "shapes.csv";
  Recorder one(file), other(file);
  for (int round = 1; round <= 3; ++round) {
    one.note(problem("64x64x64"));
    other.note(problem("64x64x64"));
    one.save();
    one.save();
    other.save();
    EXPECT_EQ(calls_in(recorded(file)), 2u * static_cast<unsigned>(round));
  }
  EXPECT_EQ(recorded(file).size(), 1u);
}

// C03, C14: several ranks, one file.
TEST(Recorder, ProcessesLoseNothingOfEachOther) {
  const ScratchFolder folder;
  const auto file = folder.path() / "shapes.csv";
  constexpr int kProcesses = 4, kRounds = 5;
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p) {
    const pid_t child = ::fork();
    if (child == 0) {
      Recorder recorder(file);
      for (int round = 0; round < kRounds; ++round) {
        recorder.note(problem("64x64x64"));
        recorder.note(problem(std::to_string(p + 1) + "x8x8"));
        recorder.save();
      }
      ::_exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  // On a machine so loaded that a lock was waited for in vain, a file of its own has the rest.
  std::uint64_t calls = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    calls += calls_in(recorded(entry.path()));
  }
  EXPECT_EQ(calls, 2u * kProcesses * kRounds);
  EXPECT_EQ(recorded(file).size(), 1u + kProcesses);
}

TEST(Recorder, ThreadsCountTogether) {
  const ScratchFolder folder;
  const auto file = folder.path() / "shapes.csv";
  Recorder recorder(file);
  constexpr int kThreads = 4, kCalls = 2000, kProblems = 50;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kCalls; ++i) recorder.note({.m = 1 + i % kProblems, .n = 8, .k = 8});
    });
  }
  for (std::thread& thread : threads) thread.join();
  recorder.save();
  const AskedProblems problems = recorded(file);
  EXPECT_EQ(problems.size(), std::size_t{kProblems});
  EXPECT_EQ(calls_in(problems), std::uint64_t{kThreads} * kCalls);
}

TEST(Recorder, LeavesAnotherFileAlone) {
  const ScratchFolder folder;
  const auto file = folder.path() / "shapes.csv";
  const std::string mine = "m,n,k\n1,2,3\n";
  ASSERT_TRUE(write_file_atomically(file, mine));
  Recorder recorder(file);
  recorder.note(problem("64x64x64"));
  recorder.save();
  EXPECT_EQ(read_file(file).value(), mine);
  EXPECT_EQ(calls_in(recorded(file.string() + "." + std::to_string(::getpid()))), 1u);
}

TEST(Recorder, WithoutAPlaceToWriteCallsGoOn) {
  Recorder recorder("/proc/nowhere/shapes.csv");
  recorder.note(problem("64x64x64"));
  recorder.save();
  recorder.save();
}

// What the parent had counted is the parent's to write.
TEST(Recorder, AForkedChildBeginsAnew) {
  const ScratchFolder folder;
  const auto file = folder.path() / "shapes.csv";
  Recorder recorder(file);
  recorder.note(problem("64x64x64"));
  recorder.before_fork();
  recorder.after_fork_in_child();
  recorder.note(problem("32x32x32"));
  recorder.save();
  const AskedProblems problems = recorded(file);
  EXPECT_EQ(problems.size(), 1u);
  EXPECT_TRUE(problems.contains("gemm 32x32x32 f16 acc=f32 nn"));
}

TEST(RecordCsv, RefusesWhatItDidNotWrite) {
  AskedProblems problems;
  add(problems, problem("64x64x64"), 3);
  const std::string text = to_csv(problems);
  EXPECT_TRUE(parse_record(text));
  EXPECT_TRUE(parse_record(""));
  for (const std::string& wrong :
       {std::string("m,n,k\n"), text.substr(0, text.size() - 1), text + "1,2,3\n",
        text + "0,x,3,f16,nn,f32,f16,1,0,0,0,one,zero,1\n",
        text + "64,64,64,f16,nn,f32,f16,1,0,0,0,one,zero,-1\n"}) {
    EXPECT_FALSE(parse_record(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace tilewright::runtime
