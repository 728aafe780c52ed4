// SPDX-License-Identifier: Apache-2.0
// See team.h.
#include "execute/runner/team.h"

#include "execute/runner/lockdown.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>

namespace tilewright::runner {
namespace {

constexpr std::uint32_t kReady = 1;  // the round in which the workers set themselves up

void pin(pthread_t thread, int cpu) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (cpu < 0 || cpu >= CPU_SETSIZE) return;
  CPU_SET(static_cast<std::size_t>(cpu), &mask);
  // Best effort: a container may refuse, and then the scheduler decides.
  static_cast<void>(pthread_setaffinity_np(thread, sizeof mask, &mask));
}

// A kernel that flushes subnormals or changes the rounding must not do so for the next contestant.
class FloatingPointState {
 public:
#if defined(__x86_64__)
  FloatingPointState() : saved_(_mm_getcsr()) {}
  ~FloatingPointState() { _mm_setcsr(saved_); }

 private:
  unsigned saved_;
#else
  FloatingPointState() {}
  ~FloatingPointState() {}
#endif
};

}  // namespace

Team::Team(int threads, const std::vector<int>& cpus)
    : threads_(threads),
      spin_(static_cast<std::size_t>(threads) <= std::max<std::size_t>(cpus.size(), 1)) {
  if (!cpus.empty()) pin(pthread_self(), cpus[0]);
  round_.set(kReady);
  working_.value.store(static_cast<std::uint32_t>(threads - 1), std::memory_order_relaxed);
  workers_.reserve(static_cast<std::size_t>(threads));
  for (int thread = 1; thread < threads; ++thread) {
    const int cpu = cpus.empty() ? -1 : cpus[static_cast<std::size_t>(thread) % cpus.size()];
    workers_.emplace_back([this, thread, cpu] { serve(thread, cpu); });
  }
  // Until each has pinned itself, which it may not do any more once the process is locked down.
  if (threads > 1) done_.wait_while(0, spin_);
}

Team::~Team() {
  closing_.store(true);
  round_.set(round_.load() + 1);
  for (std::thread& worker : workers_) worker.join();
}

void Team::serve(int thread, int cpu) {
  pin(pthread_self(), cpu);
  use_signal_stack();
  finish();
  for (std::uint32_t round = kReady;; ++round) {
    round_.wait_while(round, spin_);
    if (closing_.load()) return;
    take_part(thread);
    finish();
  }
}

void Team::run(tw_cpu_gemm_fn kernel, const tw_cpu_gemm_args& args) {
  const std::uint32_t round = round_.load() + 1;
  kernel_ = kernel;
  args_ = &args;
  if (threads_ == 1) return take_part(0);
  working_.value.store(static_cast<std::uint32_t>(threads_ - 1), std::memory_order_relaxed);
  round_.set(round);
  take_part(0);
  done_.wait_while(round - 1, spin_);
}

void Team::take_part(int thread) {
  const FloatingPointState restored_after;
  const tw_cpu_team team{thread, threads_, &Team::enter_barrier, this};
  kernel_(args_, &team);
}

void Team::finish() {
  if (working_.value.fetch_sub(1, std::memory_order_acq_rel) == 1) done_.set(round_.load());
}

void Team::enter_barrier(void* state) {
  auto* team = static_cast<Team*>(state);
  team->barrier_.wait(team->threads_, team->spin_);
}

}  // namespace tilewright::runner
