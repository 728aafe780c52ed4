// SPDX-License-Identifier: Apache-2.0
// Profiles as text: a table of contestants side by side for people, CSV and JSON for programs.
#pragma once

#include "profile/profiler.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

struct ProfiledColumn {
  std::string contestant;  // "candidate", "cublaslt_autotune"
  Profiled profiled;
  std::string error;  // why there is no profile; empty if there is one
};

struct ProfiledPair {
  std::string problem, program;
  std::vector<ProfiledColumn> columns;
};

enum class ProfileFormat { table, csv, json };
[[nodiscard]] std::optional<ProfileFormat> profile_format_from(std::string_view name);

// The same for every format of `pairs`. CSV has a line for each value: problem, program,
// contestant, name, number, unit; JSON a schema_version, the device and the pairs.
[[nodiscard]] std::string render_profiles(const std::vector<ProfiledPair>& pairs,
                                          const std::string& device, ProfileFormat format);

}  // namespace tilewright
