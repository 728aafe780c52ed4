// SPDX-License-Identifier: Apache-2.0
// The team: two signals and a count.
#include "baseline/conversion_team.h"

#include <pthread.h>
#include <sched.h>
#include <algorithm>

namespace tilewright {
namespace {

// Below this many elements a conversion takes less time than waking a helper.
constexpr std::int64_t kSharedElements = std::int64_t{1} << 17;

}  // namespace

ConversionTeam::ConversionTeam(const std::vector<int>& cpus, int threads, Waiting waiting)
    : parts_(std::max(threads, 1)),
      // A thread that shares its CPU with the one that it waits for must not hold it.
      spin_(waiting == Waiting::spinning &&
            (cpus.empty() || static_cast<std::size_t>(parts_) <= cpus.size())) {
  for (int part = 1; part < parts_; ++part) {
    workers_.emplace_back([this, part] { serve(part); });
    if (cpus.empty()) continue;
    const int cpu = cpus[static_cast<std::size_t>(part) % cpus.size()];
    if (cpu < 0 || cpu >= CPU_SETSIZE) continue;
    cpu_set_t mask;
    CPU_ZERO(&mask);
    CPU_SET(static_cast<std::size_t>(cpu), &mask);
    // Without permission the thread stays where the scheduler likes: slower, never wrong.
    static_cast<void>(pthread_setaffinity_np(workers_.back().native_handle(), sizeof mask, &mask));
  }
}

ConversionTeam::~ConversionTeam() {
  closing_.store(true);
  round_.set(round_.load() + 1);
  for (std::thread& worker : workers_) worker.join();
}

void ConversionTeam::serve(int part) {
  for (std::uint32_t round = 0;; ++round) {
    round_.wait_while(round, spin_);
    if (closing_.load()) return;
    (*work_)(part, parts_);
    if (busy_.fetch_sub(1) == 1) done_.set(round_.load());
  }
}

void ConversionTeam::run(const std::function<void(int, int)>& work) {
  if (workers_.empty()) return work(0, parts_);
  work_ = &work;
  const std::uint32_t round = round_.load() + 1;
  busy_.store(static_cast<std::uint32_t>(workers_.size()));
  round_.set(round);
  work(0, parts_);
  done_.wait_while(round - 1, spin_);
}

void ConversionTeam::share(std::int64_t elements, const std::function<void(int, int)>& work) {
  if (elements < kSharedElements) return work(0, 1);
  run(work);
}

}  // namespace tilewright
