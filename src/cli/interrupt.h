// SPDX-License-Identifier: Apache-2.0
// Ctrl-C as a flag that long commands look at between steps.
#pragma once

#include <atomic>

namespace tilewright {

// From now on SIGINT and SIGTERM set the flag that this returns instead of ending the process.
[[nodiscard]] const std::atomic<bool>& stop_on_signals();

}  // namespace tilewright
