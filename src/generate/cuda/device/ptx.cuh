// SPDX-License-Identifier: Apache-2.0
// Single instructions that every kernel may need and that have no other spelling. All PTX of the
// device headers stands here and in barrier.cuh, tma.cuh, wgmma.cuh and mma.cuh (and the wgmma
// instruction in generated text), one wrapper to an instruction: tests/emulate has the same
// wrappers for a machine without a GPU, and everything else runs there as it stands.
#pragma once

#include "generate/cuda/device/types.cuh"

namespace tw {

// Two f32 rounded to a pair of 16-bit numbers, `low` at the lower address.
template <Type T>
__device__ __forceinline__ u32 pack(float low, float high) {
  u32 out;
  if constexpr (T == Type::f16) {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(out) : "f"(high), "f"(low));
  } else {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(out) : "f"(high), "f"(low));
  }
  return out;
}

template <Type T>
__device__ __forceinline__ float widen(u16 bits) {
  if constexpr (T == Type::f16) {
    float out;
    asm("cvt.f32.f16 %0, %1;" : "=f"(out) : "h"(bits));
    return out;
  } else {
    return __uint_as_float(static_cast<u32>(bits) << 16);
  }
}

// 1 / x and 2 to the x, to about 2^-22 relatively (PTX ISA 9.7.3.13 and 9.7.3.20).
__device__ __forceinline__ float reciprocal(float x) {
  float out;
  asm("rcp.approx.f32 %0, %1;" : "=f"(out) : "f"(x));
  return out;
}
__device__ __forceinline__ float power_of_two(float x) {
  float out;
  asm("ex2.approx.f32 %0, %1;" : "=f"(out) : "f"(x));
  return out;
}

// The 32-bit address of shared memory, as every instruction here takes it.
__device__ __forceinline__ u32 shared_address(const void* pointer) {
  return static_cast<u32>(__cvta_generic_to_shared(pointer));
}

// True in one lane, the same every time, of a warp that is all here. The compiler knows that it is
// one if the answer is combined with what is the same in all lanes, and only then issues a copy
// without a loop over lanes, which takes longer than a small stage's products: write elect_lane()
// && x, with an x that needs no shuffle any more (PTX ISA 9.7.13, elect.sync).
__device__ __forceinline__ bool elect_lane() {
  u32 elected;
  asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xffffffff;\nselp.u32 %0, 1, 0, p;\n}"
               : "=r"(elected));
  return elected != 0;
}

// A barrier of `threads` threads, whole warps; 0 is __syncthreads (PTX ISA 9.7.13.1).
__device__ __forceinline__ void named_barrier(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
// The half of a barrier that does not wait.
__device__ __forceinline__ void named_arrive(int id, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// The CTA's dynamic shared memory.
__device__ __forceinline__ unsigned char* dynamic_shared() {
  extern __shared__ __align__(128) unsigned char tw_dynamic_shared[];
  return tw_dynamic_shared;
}
__device__ __forceinline__ void store_shared(u32 address, const u32 (&words)[4]) {
  asm volatile("st.shared.v4.u32 [%0], {%1,%2,%3,%4};" ::"r"(address), "r"(words[0]), "r"(words[1]),
               "r"(words[2]), "r"(words[3])
               : "memory");
}
__device__ __forceinline__ u16 load_shared(u32 address) {
  u16 value;
  asm volatile("ld.shared.u16 %0, [%1];" : "=h"(value) : "r"(address) : "memory");
  return value;
}

__device__ __forceinline__ u32 cluster_rank() {
  u32 rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
// Release and acquire: shared memory written before one is seen by the peers after the other. All
// threads of the cluster that have not left take part, whole warps at once (PTX ISA 9.7.13.4).
__device__ __forceinline__ void cluster_arrive() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
__device__ __forceinline__ void cluster_wait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
__device__ __forceinline__ void cluster_sync() {
  cluster_arrive();
  cluster_wait();
}
__device__ __forceinline__ u32 peer_address(u32 address, u32 rank) {
  u32 out;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(out) : "r"(address), "r"(rank));
  return out;
}
__device__ __forceinline__ float4 read_peer(u32 address) {
  float4 v;
  asm volatile("ld.shared::cluster.v4.f32 {%0,%1,%2,%3}, [%4];"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "r"(address)
               : "memory");
  return v;
}
// Adds to a counter in global memory; the value before. What this thread wrote, or saw behind a
// barrier, is released with it, and what others released is acquired.
__device__ __forceinline__ u32 add_to_counter(u32* counter, u32 amount) {
  u32 before;
  asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], %2;"
               : "=r"(before)
               : "l"(counter), "r"(amount)
               : "memory");
  return before;
}
// The same without an order of anything else.
__device__ __forceinline__ u32 add_to_counter_relaxed(u32* counter, u32 amount) {
  u32 before;
  asm volatile("atom.relaxed.gpu.global.add.u32 %0, [%1], %2;"
               : "=r"(before)
               : "l"(counter), "r"(amount)
               : "memory");
  return before;
}
// A look at it that acquires.
__device__ __forceinline__ u32 read_counter(const u32* counter) {
  u32 value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(counter) : "memory");
  return value;
}

// Programmatic dependent launch (PTX ISA 9.7.13.13, griddepcontrol). The next grid on the stream may
// start once every CTA of this one has said so or ended; and here all threads that call it wait
// until the grids before are done and what they wrote is visible. Both do nothing where the launch
// did not ask for it.
__device__ __forceinline__ void let_next_grid_start() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}
__device__ __forceinline__ void wait_for_grids_before() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}

// A number that the compiler does not know from here on, so that it does not unroll by it.
__device__ __forceinline__ void make_unknown(int& x) {
  asm volatile("" : "+r"(x));
}

}  // namespace tw
