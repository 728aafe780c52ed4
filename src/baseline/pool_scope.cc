// SPDX-License-Identifier: Apache-2.0
// Affinity masks and /proc/self/task.
#include "baseline/pool_scope.h"

#include "base/text.h"

#include <filesystem>
#include <system_error>
#include <utility>

namespace tilewright {
namespace {

bool usable(int cpu) {
  return cpu >= 0 && cpu < CPU_SETSIZE;
}

cpu_set_t mask_of(const std::vector<int>& cpus) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  for (const int cpu : cpus) {
    if (usable(cpu)) CPU_SET(static_cast<std::size_t>(cpu), &mask);
  }
  return mask;
}

}  // namespace

std::set<int> thread_ids() {
  std::set<int> ids;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc/self/task", error), end;
       !error && entry != end; entry.increment(error)) {
    if (const auto id = parse_integer(entry->path().filename().string())) {
      ids.insert(static_cast<int>(*id));
    }
  }
  return ids;
}

PoolScope::PoolScope(std::vector<int> cpus) : cpus_(std::move(cpus)), before_(thread_ids()) {
  if (cpus_.empty() || sched_getaffinity(0, sizeof mask_, &mask_) != 0) return;
  const cpu_set_t wide = mask_of(cpus_);
  restore_ = sched_setaffinity(0, sizeof wide, &wide) == 0;
}

PoolScope::~PoolScope() {
  if (!restore_) return;
  std::size_t next = 1;
  for (const int id : pin_each_ ? thread_ids() : std::set<int>{}) {
    if (before_.contains(id)) continue;
    const cpu_set_t one = mask_of({cpus_[next % cpus_.size()]});
    // A thread may have ended meanwhile; then there is nothing to pin.
    static_cast<void>(sched_setaffinity(id, sizeof one, &one));
    ++next;
  }
  static_cast<void>(sched_setaffinity(0, sizeof mask_, &mask_));
}

}  // namespace tilewright
