// SPDX-License-Identifier: Apache-2.0
// The cost model of the general operations' programs (docs/general-ops.md): instructions of the
// busiest thread or memory, whichever is slower. Only the ranking matters.
#pragma once

#include "program/program.h"

namespace tilewright {

[[nodiscard]] double estimate_general(const Program& program, const Problem& problem,
                                      const Device& device);

}  // namespace tilewright
