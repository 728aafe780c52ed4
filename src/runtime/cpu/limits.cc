// SPDX-License-Identifier: Apache-2.0
// Format of the files: Linux, Documentation/admin-guide/cgroup-v2.rst (cpu.max) and
// Documentation/scheduler/sched-bwc.rst (cpu.cfs_quota_us).
#include "runtime/cpu/limits.h"

#include "base/file.h"
#include "base/text.h"
#include "device/topology.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace tilewright::runtime::cpu {
namespace {

namespace fs = std::filesystem;

std::optional<double> ratio(std::string_view quota, std::string_view period) {
  const auto share = parse_integer(trim(quota)), whole = parse_integer(trim(period));
  if (!share || !whole || *share <= 0 || *whole <= 0) return std::nullopt;  // "max", -1
  return static_cast<double>(*share) / static_cast<double>(*whole);
}

std::optional<double> quota_of(const fs::path& group) {
  if (const auto both = read_file(group / "cpu.max")) {
    const std::vector<std::string_view> parts = words(trim(*both));
    return parts.size() == 2 ? ratio(parts[0], parts[1]) : std::nullopt;
  }
  const auto quota = read_file(group / "cpu.cfs_quota_us");
  const auto period = read_file(group / "cpu.cfs_period_us");
  return quota && period ? ratio(*quota, *period) : std::nullopt;
}

}  // namespace

std::optional<double> cpu_quota(std::string_view proc_self_cgroup, const fs::path& sysfs) {
  std::optional<double> least;
  for (const std::string_view line : split(proc_self_cgroup, '\n')) {
    // <number>:<controllers>:<path>; no controllers in version 2.
    const std::vector<std::string_view> parts = split(line, ':');
    if (parts.size() < 3) continue;
    const std::vector<std::string_view> controllers = split(parts[1], ',');
    const bool version_2 = parts[1].empty();
    if (!version_2 && std::ranges::find(controllers, "cpu") == controllers.end()) continue;
    const fs::path root = version_2 ? sysfs : sysfs / parts[1];
    // A limit holds for all groups below. In a container the path may not exist: then its root.
    const fs::path inside = fs::path(parts[2]).relative_path();
    if (inside.is_absolute() || std::ranges::find(inside, fs::path("..")) != inside.end()) continue;
    for (fs::path group = inside;; group = group.parent_path()) {
      if (const auto quota = quota_of(root / group); quota && (!least || *quota < *least)) {
        least = quota;
      }
      if (group.empty()) break;
    }
  }
  return least;
}

int most_threads(int asked, const Device& device, int processors, std::optional<double> quota) {
  if (asked > 0) return std::min(asked, std::max(processors, 1));
  int threads = std::max(device.cores, 1);
  // Rounded down: a team that is throttled spins through the time it has.
  if (quota && *quota < threads) threads = std::max(1, static_cast<int>(std::floor(*quota)));
  return threads;
}

int most_threads(int asked, const Device& device) {
  const auto groups = read_file("/proc/self/cgroup");
  return most_threads(asked, device, static_cast<int>(allowed_cpus().size()),
                      groups ? cpu_quota(*groups, "/sys/fs/cgroup") : std::nullopt);
}

}  // namespace tilewright::runtime::cpu
