// SPDX-License-Identifier: Apache-2.0
// mbarrier objects (PTX ISA 9.7.13.15) and the fences that Hopper's asynchronous units need.
#pragma once

#include "generate/cuda/device/ptx.cuh"

namespace tw {

__device__ __forceinline__ void init_barrier(u32 barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
// Makes initialised barriers visible to the copy engine and to the cluster.
__device__ __forceinline__ void fence_barrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;\nfence.proxy.async.shared::cta;" ::: "memory");
}
// Shared memory that this thread wrote may be read by the copy engine or wgmma.
__device__ __forceinline__ void fence_async_proxy() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// The one arrival of a producer, which also announces how many bytes will come.
__device__ __forceinline__ void arrive_expecting(u32 barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}
__device__ __forceinline__ void arrive(u32 barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
// On the barrier at the same place in CTA `rank` of the cluster. It says that something was read,
// so there is nothing to release to the cluster: with that scope it would be a third slower.
__device__ __forceinline__ void arrive_at(u32 barrier, u32 rank) {
  asm volatile(
      "{\n.reg .b32 remote;\nmapa.shared::cluster.u32 remote, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [remote];\n}" ::"r"(barrier),
      "r"(rank)
      : "memory");
}

// Waits for the phase of parity `parity` to end. A fresh barrier is in phase 0, so waiting for
// parity 1 returns at once. try_wait sleeps for a while by itself.
__device__ __forceinline__ void wait(u32 barrier, u32 parity) {
  u32 done = 0;
#ifdef TW_SPIN_LIMIT  // to debug a hang: trap instead
  for (u32 spins = 0; !done; ++spins) {
    if (spins > TW_SPIN_LIMIT) asm volatile("trap;");
#else
  while (!done) {
#endif
    asm volatile(
        "{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
        "selp.u32 %0, 1, 0, p;\n}"
        : "=r"(done)
        : "r"(barrier), "r"(parity)
        : "memory");
  }
}
}  // namespace tw
