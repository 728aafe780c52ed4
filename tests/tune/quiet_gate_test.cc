// SPDX-License-Identifier: Apache-2.0
// The gate keeps compilers still while something is timed.
#include "tune/quiet_gate.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace tilewright {
namespace {

using std::chrono::milliseconds;

// A stand-in for base/subprocess: polls its supervisor every millisecond and records when it was
// told to run.
struct FakeCompiler {
  std::atomic<bool> stop = false;
  std::atomic<int> running_polls = 0;
  std::jthread thread;
  explicit FakeCompiler(QuietGate& gate)
      : thread([this, &gate] {
          QuietGate::Worker worker(gate);
          const Supervision supervision = worker.supervision([this] { return stop.load(); });
          while (!supervision.cancel()) {
            if (!supervision.pause()) ++running_polls;
            std::this_thread::sleep_for(milliseconds(1));
          }
        }) {}
  ~FakeCompiler() { stop = true; }
};

TEST(QuietGate, NothingRunsWhileItIsClosed) {
  QuietGate gate;
  FakeCompiler a(gate), b(gate);
  for (int round = 0; round < 20; ++round) {
    std::this_thread::sleep_for(milliseconds(5));
    const QuietGate::Quiet quiet(gate);
    const int before = a.running_polls + b.running_polls;
    std::this_thread::sleep_for(milliseconds(5));
    EXPECT_EQ(a.running_polls + b.running_polls, before);
  }
  const int before = a.running_polls;
  for (int i = 0; i < 1000 && a.running_polls == before; ++i) {
    std::this_thread::sleep_for(milliseconds(10));
  }
  EXPECT_GT(a.running_polls, before) << "an open gate lets compilers run";
}

TEST(QuietGate, ANewJobWaitsUntilItOpens) {
  QuietGate gate;
  std::atomic<bool> began = false;
  std::jthread late;
  {
    const QuietGate::Quiet quiet(gate);
    late = std::jthread([&] {
      const QuietGate::Worker worker(gate);
      began = true;
    });
    std::this_thread::sleep_for(milliseconds(30));
    EXPECT_FALSE(began);
  }
  late.join();
  EXPECT_TRUE(began);
}

TEST(QuietGate, AbandoningLetsEveryoneGo) {
  QuietGate gate;
  const QuietGate::Quiet quiet(gate);
  std::jthread late([&] { const QuietGate::Worker worker(gate); });
  gate.abandon();
  late.join();
  SUCCEED();
}

}  // namespace
}  // namespace tilewright
