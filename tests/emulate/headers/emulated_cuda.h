// SPDX-License-Identifier: Apache-2.0
// CUDA C++ for the host's compiler, as far as the device headers use it, and the functions of the
// emulator behind them (machine.h). A kernel that is emulated is compiled with this in front; the
// wrappers of single instructions in generate/cuda/device beside it replace those of the project.
#pragma once
#pragma GCC system_header  // what nvcc says no word of is no fault here: conversions, #pragma
                           // unroll

#define __global__
#define __device__
#define __host__
#define __grid_constant__
#define __forceinline__ inline
#define __launch_bounds__(...)

#include "emulator.h"

// What CUDA's vector types promise of alignment is checked by the compiler that emulates.
struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};

inline float2 make_float2(float x, float y) {
  return {x, y};
}
inline float4 make_float4(float x, float y, float z, float w) {
  return {x, y, z, w};
}
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) {
  return {x, y, z, w};
}
inline uint2 make_uint2(unsigned x, unsigned y) {
  return {x, y};
}
inline int min(int a, int b) {
  return a < b ? a : b;
}
inline int max(int a, int b) {
  return a > b ? a : b;
}
inline float fabsf(float x) {
  return __builtin_fabsf(x);
}
inline float fmaf(float x, float y, float z) {
  return __builtin_fmaf(x, y, z);
}
inline float __uint_as_float(unsigned bits) {
  return emu::same_bits<float>(bits);
}
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
  const unsigned long long both = a | static_cast<unsigned long long>(b) << 32;
  unsigned out = 0;
  for (int i = 0; i < 4; ++i) out |= (both >> (8 * (selector >> (4 * i) & 7)) & 0xff) << (8 * i);
  return out;
}
template <class T>
inline T __ldg(const T* from) {
  T value;
  emu::load_global(from, &value, sizeof(T));
  return value;
}
template <class T>
inline T __ldcg(const T* from) {
  return __ldg(from);
}
template <class T>
inline void __stcg(T* to, T value) {
  emu::store_global(to, &value, sizeof(T));
}
template <class T>
inline T __shfl_sync(unsigned mask, T value, int lane) {
  return emu::same_bits<T>(emu::shuffle(mask, emu::same_bits<unsigned>(value), lane & 31));
}
template <class T>
inline T __shfl_xor_sync(unsigned mask, T value, int lanes) {
  return emu::same_bits<T>(
      emu::shuffle(mask, emu::same_bits<unsigned>(value), (threadIdx.x ^ lanes) & 31));
}
inline void __syncthreads() {
  emu::sync_threads();
}
inline void __syncwarp() {
  emu::sync_warp();
}
inline void __threadfence() {
  emu::thread_fence();
}

// A kernel's arguments as the driver takes them, and their sizes.
template <class T>
struct emulated_value {
  using type = T;
};
template <class T>
struct emulated_value<const T> {
  using type = T;
};
template <class... Arguments>
struct EmulatedKernel {
  template <unsigned... I>
  struct Indices {};
  template <unsigned N, unsigned... I>
  struct Count : Count<N - 1, N - 1, I...> {};
  template <unsigned... I>
  struct Count<0, I...> {
    using type = Indices<I...>;
  };
  template <unsigned... I>
  static void call(void (*kernel)(Arguments...), void** arguments, Indices<I...>) {
    kernel(*static_cast<typename emulated_value<Arguments>::type*>(arguments[I])...);
  }
  static void call(void (*kernel)(Arguments...), void** arguments) {
    call(kernel, arguments, typename Count<sizeof...(Arguments)>::type());
  }
  static int size(int index) {
    constexpr int kSizes[] = {static_cast<int>(sizeof(Arguments))...};
    return index < static_cast<int>(sizeof...(Arguments)) ? kSizes[index] : 0;
  }
};
template <class... Arguments>
EmulatedKernel<Arguments...> emulated_kernel(void (*)(Arguments...)) {
  return {};
}
