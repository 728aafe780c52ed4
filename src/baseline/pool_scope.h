// SPDX-License-Identifier: Apache-2.0
// Makes a library start its threads where they belong.
//
// New threads inherit the affinity of the thread that creates them. A runner pins its main thread
// to one CPU, so a library that starts its pool from there gets all its workers on that one CPU and
// looks several times slower than it is. While a PoolScope lives, the calling thread may use all of
// the team's CPUs; when it ends, every thread that appeared is pinned to a CPU of its own - the
// same ones that the candidate's team has - and the caller's own mask is restored.
#pragma once

#include <sched.h>
#include <set>
#include <vector>

namespace tilewright {

class PoolScope {
 public:
  // `cpus`: the team's CPUs; cpus[0] is the caller's.
  explicit PoolScope(std::vector<int> cpus);
  ~PoolScope();
  // For a library whose new threads are not all workers: they keep the team's CPUs in common.
  void leave_shared() { pin_each_ = false; }
  PoolScope(const PoolScope&) = delete;
  PoolScope& operator=(const PoolScope&) = delete;

 private:
  std::vector<int> cpus_;
  std::set<int> before_;  // threads that existed already
  cpu_set_t mask_{};
  bool restore_ = false;
  bool pin_each_ = true;
};

// The ids of this process' threads.
[[nodiscard]] std::set<int> thread_ids();

}  // namespace tilewright
