// SPDX-License-Identifier: Apache-2.0
// What surrounds wgmma.mma_async (PTX ISA 9.7.15, "Asynchronous warpgroup level matrix
// instructions"). The instruction itself has one operand per accumulator, so generated source
// spells it out for the tile width that it uses.
#pragma once

#include "generate/cuda/device/ptx.cuh"

namespace tw {

// Before the first wgmma of a series, and after registers that it uses were written.
__device__ __forceinline__ void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int kPending>
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}
// All threads of a warpgroup; counts are multiples of 8, and no more is taken than was given.
template <int kCount>
__device__ __forceinline__ void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kCount));
}
template <int kCount>
__device__ __forceinline__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kCount));
}
// Keeps the compiler from moving reads of accumulators across a wait.
__device__ __forceinline__ void keep(float& x) {
  asm volatile("" : "+f"(x)::"memory");
}
__device__ __forceinline__ void keep(u32& x) {
  asm volatile("" : "+r"(x)::"memory");
}

}  // namespace tw
