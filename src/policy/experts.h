// SPDX-License-Identifier: Apache-2.0
// Expert programs: what was best for a class of problems where it was measured, as wishes that
// degrade gracefully on other shapes and devices (program/space.h, nearest_legal).
#pragma once

#include "policy/proposers.h"

#include <vector>

namespace tilewright {

// Best first, without duplicates; empty if no class fits.
[[nodiscard]] std::vector<Program> expert_programs(const std::vector<Space>& spaces,
                                                   const PolicyContext& context);

}  // namespace tilewright
