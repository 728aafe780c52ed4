// SPDX-License-Identifier: Apache-2.0
// Element types, integers and small functions for device code. No header of the toolkit is included
// anywhere here: NVRTC then compiles a kernel in a fraction of a second.
#pragma once

namespace tw {

using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i64 = long long;

enum class Type { f16, bf16, f32 };
// How results reach C (epilogue.cuh): pairs as they lie in registers; exchanged between lanes to
// wide runs; through shared memory; by the copy engine; the same while the next tile is multiplied
// (the last two sm90 only).
enum class Epilogue { direct, exchange, shared, tma, deferred, overlapped };
// Where the slices of K are added (split_k.cuh).
enum class Reduce { none, cluster, workspace, spread };

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

__device__ __forceinline__ int lane_id() {
  return static_cast<int>(threadIdx.x & 31U);
}
// The same in all lanes, and known to be by the compiler.
__device__ __forceinline__ int warp_id() {
  return __shfl_sync(0xffffffffU, static_cast<int>(threadIdx.x >> 5U), 0);
}

// What a kernel of either family is told of its problem. Strides in elements.
struct Sizes {
  int m, n, k;
  i64 lda, ldb, ldc;  // rows apart
  i64 sa, sb, sc;     // batch entries apart
};

}  // namespace tw
