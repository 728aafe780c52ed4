// SPDX-License-Identifier: Apache-2.0
// The threads of a handle. They are made when a call first needs them, spin for a moment after each
// call, since the next one often follows at once, and then sleep in the kernel. The caller is
// thread 0.
//
// A team serves one call at a time. A call that finds it busy is not queued: its caller computes it
// alone, so nothing can deadlock, and as many threads run as callers ask for. Workers block all
// signals, may run where the maker of the handle could, and end in the destructor. After fork() a
// team is of no use to the child, which makes another (fork_mark.h).
#pragma once

#include "base/signal.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include <pthread.h>

namespace tilewright::runtime::cpu {

class Team {
 public:
  // At most `most` threads, the caller's included. `cpus`: where workers may run; fewer than `most`
  // and nobody spins.
  Team(int most, std::vector<int> cpus);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  [[nodiscard]] int most() const { return most_; }

  // task(context, thread) on `threads` threads, 0 being the caller. False, and nothing done, if the
  // team is busy or has no such number of threads. Must not throw.
  using Task = void (*)(void* context, int thread);
  [[nodiscard]] bool try_run(int threads, Task task, void* context);
  // Makes the threads that such a call would need. False if the system gives no more.
  [[nodiscard]] bool grow(int threads);
  // All threads of the running task wait for each other.
  void barrier();

 private:
  struct Worker {
    Team* team = nullptr;
    int thread = 0;
    pthread_t handle{};
    Signal go;  // another value starts its part of a task
  };
  struct alignas(64) Counter {
    std::atomic<std::uint32_t> value{0};
  };

  static void* start(void* worker);
  void serve(Worker& worker);
  void wake_children(int thread);
  [[nodiscard]] bool make_worker();
  [[nodiscard]] bool grow_locked(int threads);

  const int most_;
  const std::vector<int> cpus_;
  const bool spin_;
  std::vector<std::unique_ptr<Worker>> workers_;  // thread i + 1
  std::atomic<bool> busy_{false};
  bool closing_ = false;
  // The task in hand.
  Task task_ = nullptr;
  void* context_ = nullptr;
  int threads_ = 1;
  Signal done_;      // changes when the last worker is through
  Counter working_;  // workers that are not
  Barrier barrier_;
};

}  // namespace tilewright::runtime::cpu
