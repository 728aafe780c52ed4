// SPDX-License-Identifier: Apache-2.0
// How many threads a call may use: the processors that this process may run on, and no more than
// its control group lets it have of their time.
#pragma once

#include "device/device.h"

#include <filesystem>
#include <optional>
#include <string_view>

namespace tilewright::runtime::cpu {

// Processors' worth of time that the control groups of /proc/self/cgroup allow, versions 1 and 2;
// nothing if they do not say. `sysfs` is /sys/fs/cgroup, an argument so that a test can make one.
[[nodiscard]] std::optional<double> cpu_quota(std::string_view proc_self_cgroup,
                                              const std::filesystem::path& sysfs);

// `asked`: tw_options.threads. 0 is one a physical core, within the quota; a number is taken as it
// is, but at most one a processor.
[[nodiscard]] int most_threads(int asked, const Device& device, int processors,
                               std::optional<double> quota);
// The same for this process.
[[nodiscard]] int most_threads(int asked, const Device& device);

}  // namespace tilewright::runtime::cpu
