// SPDX-License-Identifier: Apache-2.0
// Format of the files: Linux, Documentation/admin-guide/cputopology.rst and
// Documentation/ABI/testing/sysfs-devices-system-cpu.
#include "device/topology.h"

#include "base/file.h"
#include "base/text.h"

#include <fmt/format.h>

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <set>
#include <string>

namespace tilewright {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> read_word(const fs::path& path) {
  const auto text = read_file(path);
  if (!text || trim(*text).empty()) return std::nullopt;
  return std::string(trim(*text));
}

// "48K", "2M", "512".
std::int64_t parse_size(std::string_view text) {
  int shift = 0;
  if (text.ends_with('K')) shift = 10;
  if (text.ends_with('M')) shift = 20;
  if (shift != 0) text.remove_suffix(1);
  const auto value = parse_integer(text);
  return value && *value > 0 && *value < (std::int64_t{1} << 40) ? *value << shift : 0;
}

}  // namespace

std::vector<int> allowed_cpus() {
  std::vector<int> cpus;
  // The kernel refuses a set smaller than its own with EINVAL; machines beyond 1024 CPUs exist.
  for (int size = 1024; size <= (1 << 20); size *= 2) {
    cpu_set_t* set = CPU_ALLOC(static_cast<std::size_t>(size));
    if (set == nullptr) break;
    const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(size));
    const bool ok = ::sched_getaffinity(0, bytes, set) == 0;
    const bool too_small = !ok && errno == EINVAL;
    for (int cpu = 0; ok && cpu < size; ++cpu) {
      if (CPU_ISSET_S(static_cast<std::size_t>(cpu), bytes, set)) cpus.push_back(cpu);
    }
    CPU_FREE(set);
    if (!too_small) break;
  }
  if (cpus.empty()) cpus.push_back(0);
  return cpus;
}

std::vector<int> one_cpu_per_core(const fs::path& sysfs_cpu, std::span<const int> allowed) {
  std::vector<int> sorted(allowed.begin(), allowed.end());
  std::sort(sorted.begin(), sorted.end());
  std::vector<int> chosen;
  std::set<std::string> seen;
  for (const int cpu : sorted) {
    // The list of siblings names the core; core_id alone repeats from socket to socket.
    const fs::path topology = sysfs_cpu / fmt::format("cpu{}", cpu) / "topology";
    auto siblings = read_word(topology / "thread_siblings_list");
    if (!siblings) siblings = read_word(topology / "core_cpus_list");
    if (!siblings || seen.insert(*siblings).second) chosen.push_back(cpu);
  }
  return chosen;
}

CpuCaches sysfs_caches(const fs::path& sysfs_cpu, int cpu) {
  CpuCaches caches;
  for (int index = 0; index < 16; ++index) {
    const fs::path folder =
        sysfs_cpu / fmt::format("cpu{}", cpu) / "cache" / fmt::format("index{}", index);
    const auto level = read_word(folder / "level");
    const auto type = read_word(folder / "type");
    const auto size = read_word(folder / "size");
    if (!level || !type || !size) continue;
    if (*type == "Instruction") continue;
    const std::int64_t bytes = parse_size(*size);
    if (*level == "1") caches.l1d_bytes = bytes;
    if (*level == "2") caches.l2_bytes = bytes;
    if (*level == "3") caches.l3_bytes = bytes;
  }
  return caches;
}

}  // namespace tilewright
