// SPDX-License-Identifier: Apache-2.0
// No wake-up is lost, whether the waiter spins or sleeps.
#include "base/signal.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace tilewright {
namespace {

TEST(Signal, PassesTurnsBetweenThreads) {
  for (const bool spin : {true, false}) {
    Signal there, back;
    constexpr std::uint32_t kTurns = 2000;
    std::thread other([&] {
      for (std::uint32_t turn = 0; turn < kTurns; ++turn) {
        there.wait_while(turn, spin);
        back.set(turn + 1);
      }
    });
    for (std::uint32_t turn = 0; turn < kTurns; ++turn) {
      there.set(turn + 1);
      back.wait_while(turn, spin);
    }
    other.join();
    EXPECT_EQ(back.load(), kTurns);
  }
}

TEST(Signal, DoesNotWaitForWhatIsThere) {
  Signal signal;
  signal.set(3);
  signal.wait_while(2, true);
  signal.wait_while(0, false);
  EXPECT_EQ(signal.load(), 3U);
}

TEST(Signal, WakesAllSleepers) {
  Signal signal;
  std::thread first([&] { signal.wait_while(0, false); });
  std::thread second([&] { signal.wait_while(0, false); });
  signal.set(1);
  first.join();
  second.join();
}

TEST(Barrier, NobodyIsARoundAhead) {
  for (const bool spin : {true, false}) {
    constexpr int kThreads = 3, kRounds = 500;
    Barrier barrier;
    std::atomic<int> entered = 0, ahead = 0;
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&] {
        for (int round = 1; round <= kRounds; ++round) {
          ++entered;
          barrier.wait(kThreads, spin);
          if (entered < kThreads * round) ++ahead;
          barrier.wait(kThreads, spin);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(ahead, 0);
    EXPECT_EQ(entered, kThreads * kRounds);
  }
}

}  // namespace
}  // namespace tilewright
