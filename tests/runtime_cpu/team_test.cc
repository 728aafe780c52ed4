// SPDX-License-Identifier: Apache-2.0
// Threads: the team itself, many callers of one handle, forks, signals. ThreadSanitizer runs these
// too (preset tsan); what forks is left out there, since it does not follow a forked child.
#include "product.h"

#include "runtime/cpu/limits.h"
#include "runtime/cpu/plans.h"
#include "runtime/cpu/team.h"
#include "runtime/cpu/workspaces.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

namespace tilewright::runtime {
namespace {

// A child of a process whose other threads allocate may find the sanitizer's own allocator locked
// for ever; the C library's is made ready for it.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr bool kForksAmongThreads = false;
#else
constexpr bool kForksAmongThreads = true;
#endif
#if defined(__SANITIZE_THREAD__)
constexpr bool kForks = false;
#else
constexpr bool kForks = true;
#endif

Case made(std::uint64_t seed, std::int64_t m, std::int64_t n, std::int64_t k) {
  Case what;
  what.call.m = m, what.call.n = n, what.call.k = k;
  what.call.in = what.call.out = seed % 2 == 0 ? ElementType::f16 : ElementType::bf16;
  what.call.b_transposed = seed % 3 == 0;
  what.call = packed(what.call);
  what.seed = seed;
  return what;
}

// Threads of this process that call themselves `tilewright`, as workers do.
std::size_t workers_here() {
  std::size_t count = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(task.path() / "comm");
    std::string name;
    count += std::getline(file, name) && name == "tilewright" ? 1 : 0;
  }
  return count;
}

TEST(Team, EachThreadOnceAndBarriersInBetween) {
  for (const int threads : {1, 2, 3, 7}) {
    cpu::Team team(threads, {0});
    struct Shared {
      cpu::Team* team;
      std::array<int, 8> visits{};
      std::atomic<int> entered{0};
      std::atomic<bool> late{false};
      int threads;
    } shared{&team, {}, 0, false, threads};
    const auto task = [](void* context, int thread) {
      auto& s = *static_cast<Shared*>(context);
      for (int round = 1; round <= 3; ++round) {
        ++s.visits[static_cast<std::size_t>(thread)];
        s.entered.fetch_add(1);
        s.team->barrier();
        if (s.entered.load() < round * s.threads) s.late = true;
        s.team->barrier();
      }
    };
    for (int call = 1; call <= 50; ++call) {
      shared.entered = 0;
      ASSERT_TRUE(team.try_run(threads, task, &shared));
      for (int i = 0; i < threads; ++i) {
        ASSERT_EQ(shared.visits[static_cast<std::size_t>(i)], 3 * call);
      }
    }
    EXPECT_FALSE(shared.late);
    EXPECT_FALSE(team.try_run(threads + 1, task, &shared)) << "more than there may be";
  }
}

TEST(Team, ABusyTeamIsLeftAlone) {
  cpu::Team team(2, {0, 1});
  struct Nested {
    cpu::Team* team;
    std::atomic<int> refused{0};
  } nested{&team, 0};
  ASSERT_TRUE(team.try_run(
      2,
      [](void* context, int) {
        auto& n = *static_cast<Nested*>(context);
        if (!n.team->try_run(2, [](void*, int) {}, nullptr)) n.refused.fetch_add(1);
      },
      &nested));
  EXPECT_EQ(nested.refused, 2);
}

TEST(Team, WorkersBlockAllSignals) {
  cpu::Team team(2, {0, 1});
  sigset_t mask;
  sigemptyset(&mask);
  ASSERT_TRUE(team.try_run(
      2,
      [](void* context, int thread) {
        if (thread == 1) pthread_sigmask(SIG_BLOCK, nullptr, static_cast<sigset_t*>(context));
      },
      &mask));
  EXPECT_EQ(sigismember(&mask, SIGINT), 1);
  EXPECT_EQ(sigismember(&mask, SIGUSR1), 1);
}

TEST(Team, ThreadsAreMadeWhenNeededAndEndWithTheHandle) {
  const std::size_t before = workers_here();
  const auto more = static_cast<std::size_t>(cpu::most_threads(2, detect_cpu()) - 1);
  {
    auto backend = open_with("", 2);
    Bed bed(std::size_t{8} << 20);
    EXPECT_EQ(workers_here(), before);
    bed.fill(made(2, 8, 8, 8));
    ASSERT_EQ(bed.run_and_check(*backend), "");
    EXPECT_EQ(workers_here(), before) << "too small to share";
    bed.fill(made(2, 120, 120, 120));
    ASSERT_EQ(bed.run_and_check(*backend), "");
    EXPECT_EQ(workers_here(), before + more);
  }
  // A joined thread's entry may outlive it for a moment.
  for (int wait = 0; wait < 1000 && workers_here() != before; ++wait) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(workers_here(), before);
}

// Of the plain kernels a sanitizer sees every access.
class Threads : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Isa, Threads, testing::Values("scalar", ""), [](const auto& each) {
  return *each.param == '\0' ? std::string("widest") : std::string(each.param);
});

TEST_P(Threads, ManyCallersOfOneHandle) {
  auto backend = open_with(GetParam(), 2);
  std::array<std::string, 4> wrong;
  std::vector<std::thread> callers;
  for (std::size_t caller = 0; caller < wrong.size(); ++caller) {
    callers.emplace_back([&, caller] {
      Bed bed(std::size_t{2} << 20);
      for (std::uint64_t i = 0; i < 40 && wrong[caller].empty(); ++i) {
        const std::uint64_t seed = 100 * caller + i;
        // Some are shared by the team, some are small; many plans are new, some are common.
        const Case what = i % 4 == 0 ? made(seed, 90, 130, 110)
                                     : made(seed, 1 + static_cast<std::int64_t>(i % 23), 65, 70);
        bed.fill(what);
        if (i % 8 == 0 && !backend->prepare(what.call, nullptr)) wrong[caller] = "prepare";
        if (std::string text = bed.run_and_check(*backend); !text.empty()) {
          wrong[caller] = text_of(what) + ": " + text;
        }
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  for (const std::string& text : wrong) EXPECT_EQ(text, "");
}

TEST(Concurrency, PlansAndWorkspacesUnderManyThreads) {
  cpu::Plans plans;
  cpu::Workspaces workspaces;
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (std::int64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (std::int64_t i = 0; i < 600; ++i) {
        cpu::Plan plan;
        plan.call = packed(made(0, 1 + i, 1 + t % 2, 3).call);
        plan.threads = static_cast<int>(i);
        const cpu::Plan* kept = plans.add(plan);
        if (kept == nullptr || kept->threads != i || plans.find(plan.call) != kept) ++wrong;
        const auto bytes = static_cast<std::size_t>(64 * (1 + i % 50));
        if (const cpu::Workspaces::Lease lease(workspaces, bytes); lease.data() != nullptr) {
          lease.data()[0] = lease.data()[bytes - 1] = static_cast<std::byte>(t);
          if (lease.data()[0] != static_cast<std::byte>(t)) ++wrong;
        }
        if (i % 97 == 0 && !workspaces.prepare(bytes)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// The child's answer as its exit status.
int status_of_child(const std::function<bool()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body() ? 0 : 1);
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

TEST(Fork, AChildComputesWithATeamOfItsOwn) {
  if (!kForks) GTEST_SKIP() << "ThreadSanitizer does not follow a forked child";
  auto backend = open_with("", 2);
  Bed bed(std::size_t{8} << 20);
  const Case what = made(4, 120, 130, 90);
  bed.fill(what);
  ASSERT_EQ(bed.run_and_check(*backend), "");
  for (int child = 0; child < 3; ++child) {
    EXPECT_EQ(status_of_child([&] {
                bed.restore();
                bool right = true;
                for (int i = 0; i < 3; ++i) right = right && bed.run_and_check(*backend).empty();
                backend.reset();  // joins its own threads, not the parent's
                return right;
              }),
              0);
  }
  bed.restore();
  EXPECT_EQ(bed.run_and_check(*backend), "") << "the parent goes on";
}

TEST(Fork, WhileOtherThreadsCall) {
  if (!kForksAmongThreads) GTEST_SKIP() << "a sanitizer's allocator does not survive such a fork";
  auto backend = open_with("", 2);
  std::atomic<bool> stop{false};
  std::vector<std::thread> callers;
  for (std::uint64_t caller = 0; caller < 2; ++caller) {
    callers.emplace_back([&, caller] {
      Bed bed(std::size_t{2} << 20);
      for (std::uint64_t i = 0; !stop; ++i) {
        bed.fill(made(2 * i + caller, 100, 100 + static_cast<std::int64_t>(i % 50), 100));
        static_cast<void>(bed.run(*backend));
      }
    });
  }
  Bed bed(std::size_t{2} << 20);
  bed.fill(made(6, 120, 120, 120));
  for (int child = 0; child < 8; ++child) {
    EXPECT_EQ(status_of_child([&] {
                alarm(60);  // a deadlock ends here
                return bed.run(*backend).has_value() && bed.check().empty();
              }),
              0);
  }
  stop = true;
  for (std::thread& caller : callers) caller.join();
}

}  // namespace
}  // namespace tilewright::runtime
