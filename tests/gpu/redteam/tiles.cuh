// SPDX-License-Identifier: Apache-2.0
// The tensor cores by fragments of 16 x 8, one a warp: slow and plain, with every bound checked.
#pragma once

struct Fragment {
  int row, col, g, t;  // its corner; the lane is 4 g + t
};
// Calls body(Fragment) for the fragments of C by turns.
template <class Body>
static __device__ __forceinline__ void fragments(const Call& x, const Body& body) {
  const int across = ceil_div(x.n, 8), count = ceil_div(x.m, 16) * across;
  const int lane = lane_id();
  for (int at = first_item() / 32; at < count; at += item_step() / 32) {
    body(Fragment{at / across * 16, at % across * 8, lane / 4, lane % 4});
  }
}

static __device__ __forceinline__ u32 pair_of_a(const Call& x, int i, int k) {
  const u32 low = i < x.m && k < x.k ? x.a[i * x.lda + k] : 0;
  const u32 high = i < x.m && k + 1 < x.k ? x.a[i * x.lda + k + 1] : 0;
  return low | high << 16;
}
static __device__ __forceinline__ u32 pair_of_b(const Call& x, int k, int j) {
  const u32 low = j < x.n && k < x.k ? x.b[k * x.ldb + j] : 0;
  const u32 high = j < x.n && k + 1 < x.k ? x.b[(k + 1) * x.ldb + j] : 0;
  return low | high << 16;
}
// One k-step's operands.
struct Step {
  u32 a[4], b0, b1;
};
static __device__ __forceinline__ Step step_of(const Call& x, const Fragment& f, int k) {
  const int at = k + 2 * f.t;
  return {{pair_of_a(x, f.row + f.g, at), pair_of_a(x, f.row + f.g + 8, at),
           pair_of_a(x, f.row + f.g, at + 8), pair_of_a(x, f.row + f.g + 8, at + 8)},
          pair_of_b(x, at, f.col + f.g),
          pair_of_b(x, at + 8, f.col + f.g)};
}
static __device__ __forceinline__ void put_fragment(const Call& x, const Fragment& f,
                                                    const float (&d)[4]) {
#pragma unroll
  for (int v = 0; v < 4; ++v) {
    const int i = f.row + f.g + v / 2 * 8, j = f.col + 2 * f.t + v % 2;
    if (i < x.m && j < x.n) put(x, i, j, d[v]);
  }
}
