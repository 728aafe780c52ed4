// SPDX-License-Identifier: Apache-2.0
// What a policy may learn from before it measures anything.
#pragma once

#include "base/error.h"
#include "device/device.h"
#include "measure/measure.h"
#include "policy/experience.h"
#include "problem/problem.h"
#include "record/database.h"

#include <memory>

namespace tilewright {

// All that is recorded of an operation on this device in this mode, by whatever version: headers
// change how fast a program is, rarely which of two is faster.
[[nodiscard]] Result<std::shared_ptr<const Experience>> recall(const Database& database,
                                                               const Device& device, Mode mode,
                                                               Op op);

}  // namespace tilewright
