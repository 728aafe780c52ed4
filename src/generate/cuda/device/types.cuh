// SPDX-License-Identifier: Apache-2.0
// Element types, integers and conversions for device code. No header of the toolkit is included
// anywhere here: NVRTC then compiles a kernel in a fraction of a second.
#pragma once

namespace tw {

using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i64 = long long;

enum class Type { f16, bf16, f32 };
// How results reach C (epilogue.cuh): pairs as they lie in registers; exchanged between lanes to
// wide runs; through shared memory; by the copy engine (sm90).
enum class Epilogue { direct, exchange, shared, tma };
// Where the slices of K are added (split_k.cuh).
enum class Reduce { none, cluster, workspace };

__host__ __device__ constexpr int bytes_of(Type type) {
  return type == Type::f32 ? 4 : 2;
}

__host__ __device__ constexpr int ceil_div(int a, int b) {
  return (a + b - 1) / b;
}
__host__ __device__ constexpr int round_up(int a, int b) {
  return ceil_div(a, b) * b;
}
__host__ __device__ constexpr int min_of(int a, int b) {
  return a < b ? a : b;
}
__host__ __device__ constexpr int max_of(int a, int b) {
  return a > b ? a : b;
}

template <bool kFirst, class T, class U>
__device__ __forceinline__ auto& choose(T& first, U& second) {
  if constexpr (kFirst) {
    return first;
  } else {
    return second;
  }
}

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

// The 32-bit address of shared memory, as every instruction here takes it.
__device__ __forceinline__ u32 shared_address(const void* pointer) {
  return static_cast<u32>(__cvta_generic_to_shared(pointer));
}

__device__ __forceinline__ int lane_id() {
  return static_cast<int>(threadIdx.x & 31U);
}
// The same in all lanes, and known to be by the compiler.
__device__ __forceinline__ int warp_id() {
  return __shfl_sync(0xffffffffU, static_cast<int>(threadIdx.x >> 5U), 0);
}

// A barrier of `threads` threads, whole warps; 0 is __syncthreads (PTX ISA 9.7.13.1).
__device__ __forceinline__ void named_barrier(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
// The half of a barrier that does not wait.
__device__ __forceinline__ void named_arrive(int id, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// What a kernel of either family is told of its problem. Strides in elements.
struct Sizes {
  int m, n, k;
  i64 lda, ldb, ldc;  // rows apart
  i64 sa, sb, sc;     // batch entries apart
};

}  // namespace tw
