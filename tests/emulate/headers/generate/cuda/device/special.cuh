// SPDX-License-Identifier: Apache-2.0
// The project's header of this name, on the emulator.
#pragma once

#include "generate/cuda/device/types.cuh"

namespace tw {

inline float inverse_root(float x) {
  return 1.0F / __builtin_sqrtf(x);
}

}  // namespace tw
