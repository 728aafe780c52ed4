// SPDX-License-Identifier: Apache-2.0
// Wisdom that the user has imported: one file per device in $XDG_DATA_HOME/tilewright/wisdom.
#pragma once

#include "base/error.h"
#include "device/device.h"
#include "problem/problem.h"
#include "record/wisdom.h"

#include <filesystem>
#include <optional>
#include <string>

namespace tilewright {

[[nodiscard]] Result<std::filesystem::path> installed_wisdom_path(const Device& device);
// The imported winner for a problem, or nothing: no file, or one that does not count here.
[[nodiscard]] std::optional<WisdomEntry> installed_winner(const Problem& problem,
                                                          const Device& device,
                                                          const std::string& mode);

}  // namespace tilewright
