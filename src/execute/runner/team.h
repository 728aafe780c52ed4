// SPDX-License-Identifier: Apache-2.0
// The threads that run a candidate: pinned, spinning while there is work, asleep soon after.
//
// Between the calls of a burst a sleeping thread would cost microseconds, so waiting threads spin;
// but a thread that spins while another contestant runs takes a core from it, so after a moment
// without work they sleep in the kernel (base/signal.h). The caller takes part as thread 0.
#pragma once

#include "base/signal.h"
#include "launch/cpu_abi.h"

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace tilewright::runner {

class Team {
 public:
  // Starts threads - 1 threads; thread i runs on cpus[i % cpus.size()], the caller on cpus[0].
  Team(int threads, const std::vector<int>& cpus);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  [[nodiscard]] int threads() const { return threads_; }
  // All threads call `kernel`; returns when the last has returned.
  void run(tw_cpu_gemm_fn kernel, const tw_cpu_gemm_args& args);

 private:
  void serve(int thread, int cpu);
  void take_part(int thread);
  void finish();
  static void enter_barrier(void* state);

  struct alignas(64) Counter {
    std::atomic<std::uint32_t> value{0};
  };

  int threads_;
  bool spin_;  // as many CPUs as threads
  tw_cpu_gemm_fn kernel_ = nullptr;
  const tw_cpu_gemm_args* args_ = nullptr;
  std::atomic<bool> closing_{false};
  Signal round_;     // a new value starts a call
  Signal done_;      // equals round_ when the call is over
  Counter working_;  // workers that have not returned yet
  Barrier barrier_;  // the kernel's
  std::vector<std::thread> workers_;
};

}  // namespace tilewright::runner
