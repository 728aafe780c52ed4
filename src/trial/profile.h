// SPDX-License-Identifier: Apache-2.0
// What a profiler saw of a kernel, as named numbers. Values of a trial and of prompts alike; how
// they are measured is the business of the folder profile.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace tilewright {

struct Profile {
  std::string tool;                      // "ncu 2025.3.1.0", "perf events"
  std::map<std::string, double> values;  // by name (profile/metrics.h); what is missing is unknown
  std::string stall;                     // why warps waited most; empty: not known
  std::string limit;                     // what is busiest, or "latency"; empty: not known
  std::vector<std::string> kernels;      // that were launched, in order
  friend bool operator==(const Profile&, const Profile&) = default;
};

}  // namespace tilewright
