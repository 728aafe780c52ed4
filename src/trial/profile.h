// SPDX-License-Identifier: Apache-2.0
// What a profiler saw of a kernel, as named numbers. Values of a trial and of prompts alike; how
// they are measured is the business of the folder profile.
#pragma once

#include "base/error.h"

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

// Why a warp does not issue, and what a kernel may be held up by. Prompts know a class by its place
// in these lists, so both are only ever added to.
inline constexpr std::array<std::string_view, 16> kStallClasses = {
    "barrier",        "branch_resolving", "dispatch_stall",     "drain",        "gmma",
    "lg_throttle",    "long_scoreboard",  "math_pipe_throttle", "membar",       "mio_throttle",
    "no_instruction", "short_scoreboard", "sleeping",           "tex_throttle", "wait",
    "other"};
inline constexpr std::array<std::string_view, 6> kLimits = {"tensor", "shared", "l2",
                                                            "dram",   "issue",  "latency"};

struct Profile {
  std::string tool;                      // "ncu 2025.3.1.0", "perf events"
  std::map<std::string, double> values;  // by name (profile/metrics.h); what is missing is unknown
  std::string stall;                     // of kStallClasses; empty: not known
  std::string limit;                     // of kLimits; empty: not known
  std::vector<std::string> kernels;      // that were launched, in order
  friend bool operator==(const Profile&, const Profile&) = default;
};

// One line of JSON, also a member of a trial's. Reading ignores fields that it does not know.
[[nodiscard]] std::string to_json(const Profile& profile);
[[nodiscard]] Result<Profile> profile_from_json(std::string_view line);

}  // namespace tilewright
