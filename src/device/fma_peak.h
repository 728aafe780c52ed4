// SPDX-License-Identifier: Apache-2.0
// The measured f32 FMA peak: what the cores can do when nothing but arithmetic limits them. It is
// the denominator of every "percent of peak", and the yardstick that exposes a mis-set baseline.
#pragma once

#include "device/device.h"

namespace tilewright {

// Runs a register-only FMA loop with the widest vectors that `device` lists, on `threads` pinned
// threads, for about `seconds`. Returns FLOP/s of all threads together (2 per multiply-add).
[[nodiscard]] double measure_fma_peak(const Device& device, int threads, double seconds = 0.05);

}  // namespace tilewright
