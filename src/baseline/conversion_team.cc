// SPDX-License-Identifier: Apache-2.0
// The team: two atomics that futexes wait on.
#include "baseline/conversion_team.h"

#include <pthread.h>
#include <sched.h>
#include <algorithm>

namespace tilewright {

ConversionTeam::ConversionTeam(const std::vector<int>& cpus, int threads)
    : parts_(std::max(threads, 1)) {
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
  round_.fetch_add(1);
  round_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ConversionTeam::serve(int part) {
  std::uint32_t seen = 0;
  for (;;) {
    round_.wait(seen);
    seen = round_.load();
    if (closing_.load()) return;
    (*work_)(part, parts_);
    if (busy_.fetch_sub(1) == 1) busy_.notify_one();
  }
}

void ConversionTeam::run(const std::function<void(int, int)>& work) {
  work_ = &work;
  if (!workers_.empty()) {
    busy_.store(static_cast<std::uint32_t>(workers_.size()));
    round_.fetch_add(1);
    round_.notify_all();
  }
  work(0, parts_);
  for (std::uint32_t left = busy_.load(); left != 0; left = busy_.load()) busy_.wait(left);
}

}  // namespace tilewright
