// SPDX-License-Identifier: Apache-2.0
// Budgets as people write them.
#pragma once

#include "base/error.h"
#include "tune/tune.h"

#include <string_view>

namespace tilewright {

// "90s", "10m", "1h", "1h30m", "500ms"; "40 trials"; or one of each, "10m, 40 trials". Empty: none.
[[nodiscard]] Result<Budget> parse_budget(std::string_view text);

}  // namespace tilewright
