// SPDX-License-Identifier: Apache-2.0
// Operations that treat each row by itself: map, reduce, softmax and layernorm.
//
// `row_threads` threads share a row: a part of a warp, a warp or several. They read it `vector`
// numbers at a time, `unroll` loads under way at once, or all of it once where it is kept in
// registers. What they find is combined by exchanges within a warp and, between warps, through
// shared memory. Rows past the last one are computed from the last one again and not stored, so
// that all threads meet at the barriers. All arithmetic is f32; results are rounded once.
#pragma once

#include "generate/cuda/device/activation.cuh"
#include "generate/cuda/device/special.cuh"
#include "generate/cuda/device/vectors.cuh"

namespace tw {

enum class RowOp { sum, max, relu, gelu, silu, softmax, layernorm };

struct RowsConfig {
  Type in = Type::f16, out = Type::f16;
  RowOp op = RowOp::sum;
  int threads = 256;
  int row_threads = 32;
  int vector = 8;
  int unroll = 1;
  int kept = 0;  // loads of a thread that hold its part of a row; 0: it is not kept
  bool joint = false;
  int static_m = -1, static_n = -1, static_k = -1;
};

// What every number is at least.
__device__ __forceinline__ constexpr float lowest() {
  return -3.402823466e38F;
}

struct Add {
  __device__ __forceinline__ float operator()(float x, float y) const { return x + y; }
};
struct Larger {
  __device__ __forceinline__ float operator()(float x, float y) const { return x < y ? y : x; }
};

template <RowsConfig kConfig>
struct Rows {
  enum : int {
    kThreads = kConfig.threads,
    kRowThreads = kConfig.row_threads,
    kVector = kConfig.vector,
    kLoads = kConfig.kept > 0 ? kConfig.kept : kConfig.unroll,
    kRows = kThreads / kRowThreads,
    kWarps = kRowThreads / 32,  // of a row, if it has whole ones
    kStep = kRowThreads * kVector
  };
  enum : bool { kKeeps = kConfig.kept > 0 };

  const u16* x;
  int n, first;  // columns, and the first of this thread
  float part[kKeeps ? kLoads : 1][kVector];

  // body(numbers, column) for this thread's parts of the row; past its end numbers are `rest`.
  template <class Body>
  __device__ __forceinline__ void each(float rest, Body body) {
    if constexpr (kKeeps) {
#pragma unroll
      for (int i = 0; i < kLoads; ++i) body(part[i], first + i * kStep);
    } else {
      for (int at = first; at < n; at += kLoads * kStep) {
        float v[kLoads][kVector];
#pragma unroll
        for (int i = 0; i < kLoads; ++i) {
          load_widened<kConfig.in>(v[i], x + at + i * kStep, n - at - i * kStep, rest);
        }
#pragma unroll
        for (int i = 0; i < kLoads; ++i) body(v[i], at + i * kStep);
      }
    }
  }

  // Of all threads of the row, the same in each.
  template <class Combine>
  __device__ __forceinline__ static float combined(float mine, Combine combine) {
#pragma unroll
    for (int lanes = min_of(kRowThreads, 32) / 2; lanes > 0; lanes /= 2) {
      mine = combine(mine, __shfl_xor_sync(0xffffffffU, mine, lanes));
    }
    if constexpr (kWarps > 1) {
      float* const shared = reinterpret_cast<float*>(dynamic_shared());
      const int warp = static_cast<int>(threadIdx.x >> 5U), row = warp / kWarps;
      __syncthreads();  // what was there before has been read
      if (lane_id() == 0) shared[warp] = mine;
      __syncthreads();
      mine = shared[row * kWarps];
#pragma unroll
      for (int i = 1; i < kWarps; ++i) mine = combine(mine, shared[row * kWarps + i]);
    }
    return mine;
  }

  __device__ __forceinline__ float sum() {
    float all = 0.0F;
    each(0.0F, [&](const float(&v)[kVector], int at) {
#pragma unroll
      for (int i = 0; i < kVector; ++i) all += at + i < n ? v[i] : 0.0F;
    });
    return combined(all, Add());
  }
  __device__ __forceinline__ float maximum() {
    float most = lowest();
    each(lowest(), [&](const float(&v)[kVector], int at) {
#pragma unroll
      for (int i = 0; i < kVector; ++i) {
        if (at + i < n) most = Larger()(most, v[i]);
      }
    });
    return combined(most, Larger());
  }

  __device__ __forceinline__ static float exp_below(float value, float most) {
    constexpr float kLog2OfE = 1.44269504F;
    return power_of_two((value - most) * kLog2OfE);
  }

  __device__ __forceinline__ void softmax(void* y, bool stores) {
    float most, all = 0.0F;
    if constexpr (kConfig.joint) {
      // A maximum so far, and the sum of exponentials beside it.
      most = lowest();
      each(lowest(), [&](const float(&v)[kVector], int at) {
        float now = most;
#pragma unroll
        for (int i = 0; i < kVector; ++i) {
          if (at + i < n) now = Larger()(now, v[i]);
        }
        all *= exp_below(most, now);
#pragma unroll
        for (int i = 0; i < kVector; ++i) all += at + i < n ? exp_below(v[i], now) : 0.0F;
        most = now;
      });
      const float mine = most;
      most = combined(mine, Larger());
      all = combined(all * exp_below(mine, most), Add());
    } else {
      most = maximum();
      each(lowest(), [&](float(&v)[kVector], int at) {
#pragma unroll
        for (int i = 0; i < kVector; ++i) {
          v[i] = at + i < n ? exp_below(v[i], most) : 0.0F;
          all += v[i];
        }
      });
      all = combined(all, Add());
    }
    const float scale = 1.0F / all;
    each(lowest(), [&](float(&v)[kVector], int at) {
#pragma unroll
      for (int i = 0; i < kVector; ++i) {
        // What is kept are exponentials already.
        v[i] = (kKeeps ? v[i] : exp_below(v[i], most)) * scale;
      }
      if (stores) store_rounded<kConfig.out>(y, at, v, n - at);
    });
  }

  __device__ __forceinline__ void layernorm(const u16* b, i64 ldb, void* y, bool stores) {
    const float mean = sum() / static_cast<float>(n);
    float squares = 0.0F;
    each(0.0F, [&](const float(&v)[kVector], int at) {
#pragma unroll
      for (int i = 0; i < kVector; ++i) {
        const float d = at + i < n ? v[i] - mean : 0.0F;
        squares = fmaf(d, d, squares);
      }
    });
    const float variance = combined(squares, Add()) / static_cast<float>(n);
    constexpr float kEpsilon = 1e-5F;
    const float inverse = inverse_root(variance + kEpsilon);
    each(0.0F, [&](float(&v)[kVector], int at) {
#pragma unroll
      for (int i = 0; i < kVector; ++i) {
        if (at + i >= n) continue;
        const float scale = widen<kConfig.in>(__ldg(b + at + i));
        const float shift = widen<kConfig.in>(__ldg(b + ldb + at + i));
        v[i] = fmaf((v[i] - mean) * inverse, scale, shift);
      }
      if (stores) store_rounded<kConfig.out>(y, at, v, n - at);
    });
  }

  __device__ __forceinline__ void map(void* y, bool stores) {
    each(0.0F, [&](float(&v)[kVector], int at) {
#pragma unroll
      for (int i = 0; i < kVector; ++i) {
        if constexpr (kConfig.op == RowOp::relu) v[i] = v[i] < 0.0F ? 0.0F : v[i];
        if constexpr (kConfig.op == RowOp::gelu) v[i] = gelu(v[i]);
        if constexpr (kConfig.op == RowOp::silu) v[i] = silu(v[i]);
      }
      if (stores) store_rounded<kConfig.out>(y, at, v, n - at);
    });
  }

  __device__ __forceinline__ static void run(const u16* a, const u16* b, void* c, int m, int n,
                                             i64 lda, i64 ldb, i64 ldc) {
    if constexpr (kConfig.static_n >= 0) {
      m = kConfig.static_m;
      n = kConfig.static_n;
    }
    const int lane = static_cast<int>(threadIdx.x) % kRowThreads;
    const int wished =
        static_cast<int>(blockIdx.x) * kRows + static_cast<int>(threadIdx.x) / kRowThreads;
    const bool stores = wished < m;
    const i64 row = stores ? wished : m - 1;
    void* const y = static_cast<unsigned char*>(c) + row * ldc * bytes_of(kConfig.out);
    Rows work;
    work.x = a + row * lda;
    work.n = n;
    work.first = lane * kVector;
    if constexpr (kKeeps) {
#pragma unroll
      for (int i = 0; i < kLoads; ++i) {
        const int at = work.first + i * kStep;
        load_widened<kConfig.in>(work.part[i], work.x + at, n - at, 0.0F);
      }
    }
    if constexpr (kConfig.op == RowOp::softmax) {
      work.softmax(y, stores);
    } else if constexpr (kConfig.op == RowOp::layernorm) {
      work.layernorm(b, ldb, y, stores);
    } else if constexpr (kConfig.op == RowOp::sum || kConfig.op == RowOp::max) {
      const float result = kConfig.op == RowOp::sum ? work.sum() : work.maximum();
      if (stores && lane == 0) store_one<kConfig.out>(y, 0, result);
    } else {
      work.map(y, stores);
    }
  }
};

}  // namespace tw
