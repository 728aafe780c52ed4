// SPDX-License-Identifier: Apache-2.0
// Cores and caches as the kernel lists them below /sys/devices/system/cpu. The root is an argument
// so that a test can lay out a machine of its own.
#pragma once

#include "device/cpuid.h"

#include <filesystem>
#include <span>
#include <vector>

namespace tilewright {

// The logical CPUs that this process may use.
[[nodiscard]] std::vector<int> allowed_cpus();

// One of `allowed` for each physical core among them: the lowest of its hardware threads. A CPU of
// which sysfs says nothing counts as a core.
[[nodiscard]] std::vector<int> one_cpu_per_core(const std::filesystem::path& sysfs_cpu,
                                                std::span<const int> allowed);

// Caches that `cpu` sees; 0 where sysfs says nothing.
[[nodiscard]] CpuCaches sysfs_caches(const std::filesystem::path& sysfs_cpu, int cpu);

}  // namespace tilewright
