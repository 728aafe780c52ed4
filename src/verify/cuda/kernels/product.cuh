// SPDX-License-Identifier: Apache-2.0
// The reference product in f64, and the weighted sums of Freivalds' check.
//
// Deliberately unlike a candidate: f64 on the plain units, one level of tiling, operands staged as
// doubles. A block of 256 threads makes 64 x 64 results, 4 x 4 a thread, from slices of 16 of the
// inner dimension; the next slice is fetched while this one is multiplied. Per slice a thread does
// 256 f64 multiply-adds for 8 conversions, so the f64 units are the limit. Magnitudes are summed in
// f32 beside them (reference.h says why that is enough).
#pragma once

#include "verify/cuda/kernels/elements.cuh"

namespace tilewright {

enum : int { kTile = 64, kDepth = 16, kPitch = kTile + 2 };  // the pitch spreads staging over banks

// The 64 x 16 elements of one operand that a block needs next, four a thread: outer index and k of
// the i-th. Neighbouring threads take neighbouring addresses.
struct Slice {
  const unsigned char* data;
  int type;
  long long outer_step, k_step;
  long long outer[4];  // of this thread's elements; -1: outside
  int local_outer[4], local_k[4];

  __device__ void aim(const DeviceView& m, long long batch, bool k_is_row, const Chosen& which,
                      long long first) {
    type = m.type;
    data = m.data + batch * m.batch_stride * tilewright::size_of(m.type);
    outer_step = k_is_row ? 1 : m.stride;
    k_step = k_is_row ? m.stride : 1;
    for (int i = 0; i < 4; ++i) {
      const int t = static_cast<int>(threadIdx.x) + 256 * i;
      local_outer[i] = k_is_row ? t % kTile : t / kDepth;
      local_k[i] = k_is_row ? t / kTile : t % kDepth;
      const long long at = first + local_outer[i];
      outer[i] = at < which.count ? chosen(which, at) : -1;
    }
  }
  __device__ float fetch(int i, long long k0, long long k) const {
    const long long at = k0 + local_k[i];
    if (outer[i] < 0 || at >= k) return 0.0F;
    return value_of(type, load_bits(data, type, outer[i] * outer_step + at * k_step));
  }
};

template <bool kWeighed, bool kMagnitude>
__device__ inline void multiply(const ProductArguments& x) {
  __shared__ __align__(16) double a_tile[kDepth][kPitch];
  __shared__ __align__(16) double b_tile[kDepth][kPitch];
  __shared__ __align__(16) float a_size[kMagnitude ? kDepth : 1][kPitch];
  __shared__ __align__(16) float b_size[kMagnitude ? kDepth : 1][kPitch];
  const long long row_tiles = (x.rows.count + kTile - 1) / kTile;
  const long long col_tiles = (x.cols.count + kTile - 1) / kTile;
  const long long tile = blockIdx.x;
  const long long entry = tile / (row_tiles * col_tiles);
  const long long first_row = tile / col_tiles % row_tiles * kTile;
  const long long first_col = tile % col_tiles * kTile;
  const long long batch = chosen(x.batches, entry);
  Slice a, b;
  a.aim(x.a, batch, x.a_transposed, x.rows, first_row);
  if (!kWeighed) b.aim(x.b, batch, !x.b_transposed, x.cols, first_col);
  const double* weighed = x.weighed + (kWeighed ? batch * x.k * x.cols.count : 0);
  const float* weighed_size = x.weighed_magnitude + (kWeighed ? batch * x.k * x.cols.count : 0);

  const int tx = static_cast<int>(threadIdx.x) % 16;
  const int ty = static_cast<int>(threadIdx.x) / 16;
  double sum[4][4] = {};
  float size[4][4] = {};
  float next_a[4], next_b[4];
  double next_weighed[4];
  const auto fetch = [&](long long k0) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      next_a[i] = a.fetch(i, k0, x.k);
      if (kWeighed) {
        const int t = static_cast<int>(threadIdx.x) + 256 * i;
        const long long k = k0 + t / kTile;
        const long long col = first_col + t % kTile;
        const bool inside = k < x.k && col < x.cols.count;
        next_weighed[i] = inside ? weighed[k * x.cols.count + col] : 0.0;
        if (kMagnitude) next_b[i] = inside ? weighed_size[k * x.cols.count + col] : 0.0F;
      } else {
        next_b[i] = b.fetch(i, k0, x.k);
      }
    }
  };
  fetch(0);
  for (long long k0 = 0; k0 < x.k; k0 += kDepth) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      a_tile[a.local_k[i]][a.local_outer[i]] = static_cast<double>(next_a[i]);
      if (kMagnitude) a_size[a.local_k[i]][a.local_outer[i]] = fabsf(next_a[i]);
      const int t = static_cast<int>(threadIdx.x) + 256 * i;
      const int k = kWeighed ? t / kTile : b.local_k[i];
      const int col = kWeighed ? t % kTile : b.local_outer[i];
      b_tile[k][col] = kWeighed ? next_weighed[i] : static_cast<double>(next_b[i]);
      if (kMagnitude) b_size[k][col] = fabsf(next_b[i]);
    }
    __syncthreads();
    if (k0 + kDepth < x.k) fetch(k0 + kDepth);
#pragma unroll 4
    for (int k = 0; k < kDepth; ++k) {
      // Rows 4 ty ...; columns 2 tx, 2 tx + 1 and the same 32 further on: no bank conflicts.
      const double2 a01 = *reinterpret_cast<const double2*>(&a_tile[k][4 * ty]);
      const double2 a23 = *reinterpret_cast<const double2*>(&a_tile[k][4 * ty + 2]);
      const double2 b01 = *reinterpret_cast<const double2*>(&b_tile[k][2 * tx]);
      const double2 b23 = *reinterpret_cast<const double2*>(&b_tile[k][32 + 2 * tx]);
      const double av[4] = {a01.x, a01.y, a23.x, a23.y};
      const double bv[4] = {b01.x, b01.y, b23.x, b23.y};
#pragma unroll
      for (int r = 0; r < 4; ++r) {
#pragma unroll
        for (int c = 0; c < 4; ++c) sum[r][c] = fma(av[r], bv[c], sum[r][c]);
      }
      if (kMagnitude) {
        const float2 s01 = *reinterpret_cast<const float2*>(&a_size[k][4 * ty]);
        const float2 s23 = *reinterpret_cast<const float2*>(&a_size[k][4 * ty + 2]);
        const float2 t01 = *reinterpret_cast<const float2*>(&b_size[k][2 * tx]);
        const float2 t23 = *reinterpret_cast<const float2*>(&b_size[k][32 + 2 * tx]);
        const float as[4] = {s01.x, s01.y, s23.x, s23.y};
        const float bs[4] = {t01.x, t01.y, t23.x, t23.y};
#pragma unroll
        for (int r = 0; r < 4; ++r) {
#pragma unroll
          for (int c = 0; c < 4; ++c) size[r][c] = fmaf(as[r], bs[c], size[r][c]);
        }
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int r = 0; r < 4; ++r) {
    const long long row = first_row + 4 * ty + r;
    if (row >= x.rows.count) continue;
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      const long long col = first_col + 2 * tx + c % 2 + c / 2 * 32;
      if (col >= x.cols.count) continue;
      const long long at = (entry * x.rows.count + row) * x.cols.count + col;
      x.sum[at] = sum[r][c];
      if (kMagnitude) x.magnitude[at] = size[r][c];
    }
  }
}

extern "C" __global__ void __launch_bounds__(256, 2) product(ProductArguments x) {
  multiply<false, false>(x);
}
extern "C" __global__ void __launch_bounds__(256, 2) product_magnitude(ProductArguments x) {
  multiply<false, true>(x);
}
extern "C" __global__ void __launch_bounds__(256, 2) weighed_product(ProductArguments x) {
  multiply<true, false>(x);
}
extern "C" __global__ void __launch_bounds__(256, 2) weighed_product_magnitude(ProductArguments x) {
  multiply<true, true>(x);
}

__device__ inline void put_weighed(const WeighArguments& x, long long at, double sum,
                                   double magnitude) {
  x.sum[at] = sum;
  if (x.magnitude32 != nullptr) x.magnitude32[at] = static_cast<float>(magnitude);
  if (x.magnitude64 != nullptr) x.magnitude64[at] = magnitude;
}

// The weighted axis is contiguous: a warp for each sum.
extern "C" __global__ void weigh_rows(WeighArguments x) {
  const long long count = x.matrix.batches * x.outer * x.groups;
  const long long lane = threadIdx.x % 32;
  for (long long at = first_item() / 32; at < count; at += item_step() / 32) {
    const long long line = at / x.groups;
    const long long from = at % x.groups * x.width;
    const long long to = from + x.width < x.along ? from + x.width : x.along;
    const long long start = index_in(x.matrix, line / x.outer, line % x.outer, 0);
    double sum = 0;
    double magnitude = 0;
    for (long long j = from + lane; j < to; j += 32) {
      const double value = static_cast<double>(
          value_of(x.matrix.type, load_bits(x.matrix.data, x.matrix.type, start + j)));
      sum = fma(x.weights[j], value, sum);
      magnitude += fabs(value);
    }
    for (int lanes = 16; lanes > 0; lanes /= 2) {
      sum += __shfl_down_sync(0xffffffffU, sum, lanes);
      magnitude += __shfl_down_sync(0xffffffffU, magnitude, lanes);
    }
    if (lane == 0) put_weighed(x, at, sum, magnitude);
  }
}

// It runs down the columns: a thread for each sum, neighbours side by side in a row.
extern "C" __global__ void weigh_columns(WeighArguments x) {
  const long long count = x.matrix.batches * x.outer * x.groups;
  for (long long i = first_item(); i < count; i += item_step()) {
    const long long o = i % x.outer;
    const long long g = i / x.outer % x.groups;
    const long long batch = i / (x.outer * x.groups);
    const long long from = g * x.width;
    const long long to = from + x.width < x.along ? from + x.width : x.along;
    double sum = 0;
    double magnitude = 0;
    for (long long j = from; j < to; ++j) {
      const double value = static_cast<double>(value_of(
          x.matrix.type, load_bits(x.matrix.data, x.matrix.type, index_in(x.matrix, batch, j, o))));
      sum = fma(x.weights[j], value, sum);
      magnitude += fabs(value);
    }
    put_weighed(x, (batch * x.outer + o) * x.groups + g, sum, magnitude);
  }
}

}  // namespace tilewright
