// SPDX-License-Identifier: Apache-2.0
// The device headers as the host's compiler reads them, so that the arithmetic in them (who
// computes which tile from which part of K) is tested as it stands, without a device. Only what
// holds no PTX may be called; the rest is parsed and never instantiated. `threadIdx` and its kin
// are variables that a test sets. Only gcc leaves alone the PTX that nobody calls: no clang.
#pragma once
// What nvcc and NVRTC say no word of is no fault here: conversions, #pragma unroll.
#pragma GCC system_header

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#define __device__
#define __host__
#define __shared__
#define __forceinline__ inline
#define __align__(bytes) __attribute__((aligned(bytes)))

struct HostDim3 {
  unsigned x = 0, y = 0, z = 0;
};
inline thread_local HostDim3 threadIdx, blockIdx, gridDim;

struct float2 {
  float x, y;
};
struct float4 {
  float x, y, z, w;
};
struct uint2 {
  unsigned x, y;
};
struct uint4 {
  unsigned x, y, z, w;
};
float2 make_float2(float, float);
float4 make_float4(float, float, float, float);
uint4 make_uint4(unsigned, unsigned, unsigned, unsigned);
template <class T>
T __ldg(const T*);
template <class T>
T __ldcg(const T*);
template <class T>
void __stcg(T*, T);
template <class T>
T __shfl_sync(unsigned, T, int);
template <class T>
T __shfl_xor_sync(unsigned, T, int);
float __uint_as_float(unsigned);
unsigned __byte_perm(unsigned, unsigned, unsigned);
std::size_t __cvta_generic_to_shared(const void*);
void __syncthreads();
void __syncwarp();
void __threadfence();

namespace tw {
using std::max;
using std::min;
}  // namespace tw

#include "generate/cuda/device/repack.cuh"
#include "generate/cuda/device/sm80_direct.cuh"
#include "generate/cuda/device/sm80_gemm.cuh"
#include "generate/cuda/device/sm90_gemm.cuh"

#undef __device__
#undef __host__
#undef __shared__
#undef __forceinline__
#undef __align__
