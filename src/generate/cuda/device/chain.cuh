// SPDX-License-Identifier: Apache-2.0
// Form::chained (generate.h): a kernel that starts while the one before it on its stream still runs
// and prepares itself meanwhile, so that neither its launch nor its barriers cost time. It waits
// before it touches an operand, C or the workspace, and since every kernel of a chain does, all that
// came before is done then. It is compiled with TW_CHAINED.
#pragma once

#include "generate/cuda/device/ptx.cuh"

namespace tw {

#ifdef TW_CHAINED
enum : bool { kChained = true };
#else
enum : bool { kChained = false };
#endif

// By one thread of a CTA at least, as early as possible.
__device__ __forceinline__ void begin_chained() {
  if constexpr (kChained) let_next_grid_start();
}
// By every thread that reads or writes global memory, or by one that all others wait for.
__device__ __forceinline__ void wait_chained() {
  if constexpr (kChained) wait_for_grids_before();
}

// From an operand that nobody writes as long as this kernel runs, which may be kept in the cache of
// constant data; a chained kernel runs while the one before may still write it.
template <class T>
__device__ __forceinline__ T load_constant(const T* from) {
  if constexpr (kChained) {
    return *from;
  } else {
    return __ldg(from);
  }
}

}  // namespace tw
