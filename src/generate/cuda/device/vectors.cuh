// SPDX-License-Identifier: Apache-2.0
// Runs of 1, 2, 4 or 8 numbers of 16 bits (or f32 results) between global memory and registers, and
// what is left of a run at the end of a row.
#pragma once

#include "generate/cuda/device/ptx.cuh"

namespace tw {

// Words of 32 bits that hold `kCount` numbers of 16 bits.
template <int kCount>
struct Run {
  u32 word[kCount / 2];
};

template <int kCount>
__device__ __forceinline__ Run<kCount> load_run(const u16* from) {
  Run<kCount> out;
  if constexpr (kCount == 8) {
    const uint4 v = __ldg(reinterpret_cast<const uint4*>(from));
    out.word[0] = v.x;
    out.word[1] = v.y;
    out.word[2] = v.z;
    out.word[3] = v.w;
  } else if constexpr (kCount == 4) {
    const uint2 v = __ldg(reinterpret_cast<const uint2*>(from));
    out.word[0] = v.x;
    out.word[1] = v.y;
  } else {
    out.word[0] = __ldg(reinterpret_cast<const u32*>(from));
  }
  return out;
}
template <int kCount>
__device__ __forceinline__ void store_run(u16* to, const Run<kCount>& run) {
  if constexpr (kCount == 8) {
    __stcg(reinterpret_cast<uint4*>(to),
           make_uint4(run.word[0], run.word[1], run.word[2], run.word[3]));
  } else if constexpr (kCount == 4) {
    __stcg(reinterpret_cast<uint2*>(to), make_uint2(run.word[0], run.word[1]));
  } else {
    __stcg(reinterpret_cast<u32*>(to), run.word[0]);
  }
}

// x[0 .. kCount) from a row of which `left` numbers are left; `rest` stands for what is not there.
template <Type kIn, int kCount>
__device__ __forceinline__ void load_widened(float (&x)[kCount], const u16* from, int left,
                                             float rest) {
  if (left >= kCount) {
    if constexpr (kCount == 1) {
      x[0] = widen<kIn>(__ldg(from));
    } else {
      const Run<kCount> run = load_run<kCount>(from);
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        x[i] = widen<kIn>(static_cast<u16>(run.word[i / 2] >> (i % 2 * 16)));
      }
    }
    return;
  }
#pragma unroll
  for (int i = 0; i < kCount; ++i) x[i] = i < left ? widen<kIn>(__ldg(from + i)) : rest;
}

template <Type kOut>
__device__ __forceinline__ void store_one(void* row, i64 at, float x) {
  if constexpr (kOut == Type::f32) {
    __stcg(static_cast<float*>(row) + at, x);
  } else {
    __stcg(static_cast<u16*>(row) + at, static_cast<u16>(pack<kOut>(x, 0.0F) & 0xffffU));
  }
}

template <Type kOut, int kCount>
__device__ __forceinline__ void store_rounded(void* row, i64 at, const float (&x)[kCount],
                                              int left) {
  if (kCount > 1 && left >= kCount) {
    if constexpr (kOut == Type::f32) {
      float* to = static_cast<float*>(row) + at;
      if constexpr (kCount == 2) {
        __stcg(reinterpret_cast<float2*>(to), make_float2(x[0], x[1]));
      } else if constexpr (kCount > 2) {
#pragma unroll
        for (int i = 0; i < kCount; i += 4) {
          __stcg(reinterpret_cast<float4*>(to + i),
                 make_float4(x[i], x[i + 1], x[i + 2], x[i + 3]));
        }
      }
    } else if constexpr (kCount > 1) {
      Run<kCount> run;
#pragma unroll
      for (int i = 0; i < kCount; i += 2) run.word[i / 2] = pack<kOut>(x[i], x[i + 1]);
      store_run<kCount>(static_cast<u16*>(row) + at, run);
    }
    return;
  }
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    if (i < left) store_one<kOut>(row, at + i, x[i]);
  }
}

}  // namespace tw
