// SPDX-License-Identifier: Apache-2.0
// What the red team's device kernels share: an honest f16 kernel (nn) and the pieces it is made of.
// A fixture defines attack(), departs from honest() in one way and says in its first lines which
// and who reported it. Unless a launch file (.json) beside it says otherwise, one CTA does
// everything, so that what a fixture remembers is read and written between barriers.
#pragma once

using namespace tw;

struct Call {
  const u16* a;
  const u16* b;
  u16* c;
  unsigned char* workspace;
  float alpha, beta;
  int m, n, k;
  i64 lda, ldb, ldc;
};

static __device__ void attack(const Call& x);

extern "C" __global__ void __launch_bounds__(256)
    tw_kernel(const u16* a, const u16* b, u16* c, unsigned char* workspace, float alpha, float beta,
              int m, int n, int k, i64 lda, i64 ldb, i64 ldc) {
  attack({a, b, c, workspace, alpha, beta, m, n, k, lda, ldb, ldc});
}

static __device__ __forceinline__ float load(const u16* base, i64 at) {
  return widen<Type::f16>(base[at]);
}
static __device__ __forceinline__ u16 half_bits(float value) {
  return static_cast<u16>(pack<Type::f16>(value, 0) & 0xffffU);
}
static __device__ __forceinline__ float through_half(float value) {
  return widen<Type::f16>(half_bits(value));
}
static __device__ __forceinline__ float through_bf16(float value) {
  return widen<Type::bf16>(static_cast<u16>(pack<Type::bf16>(value, 0) & 0xffffU));
}

// The sum over k in [begin, end) of one element.
static __device__ __forceinline__ float dot(const Call& x, int i, int j, int begin, int end) {
  float sum = 0;
  for (int k = begin; k < end; ++k) sum += load(x.a, i * x.lda + k) * load(x.b, k * x.ldb + j);
  return sum;
}
static __device__ __forceinline__ void put(const Call& x, int i, int j, float sum) {
  u16* const to = x.c + i * x.ldc + j;
  float value = x.alpha == 0 ? 0 : x.alpha * sum;
  if (x.beta != 0) value += x.beta * load(to, 0);
  *to = half_bits(value);
}

// Work is dealt out to all threads of the grid.
static __device__ __forceinline__ int first_item() {
  return static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
}
static __device__ __forceinline__ int item_step() {
  return static_cast<int>(gridDim.x * blockDim.x);
}
// Calls body(row, column) for the leading `rows` rows.
template <class Body>
static __device__ __forceinline__ void elements(const Call& x, int rows, const Body& body) {
  for (int at = first_item(); at < rows * x.n; at += item_step()) body(at / x.n, at % x.n);
}
// The leading `rows` rows of C = alpha A B + beta C, k in [0, depth).
static __device__ __forceinline__ void rows(const Call& x, int rows, int depth) {
  elements(x, rows, [&](int i, int j) { put(x, i, j, dot(x, i, j, 0, depth)); });
}
static __device__ __forceinline__ void honest(const Call& x) {
  rows(x, x.m, x.k);
}

// C to `kept`, packed, or back.
static __device__ __forceinline__ void keep(const Call& x, u16* kept) {
  __syncthreads();
  elements(x, x.m, [&](int i, int j) { kept[i * x.n + j] = x.c[i * x.ldc + j]; });
}
static __device__ __forceinline__ void hand_out(const Call& x, const u16* kept) {
  elements(x, x.m, [&](int i, int j) { x.c[i * x.ldc + j] = kept[i * x.n + j]; });
}

// Whether this CTA is the last of the grid to come here; `ticket` is zero before and after. What
// the others wrote before is then visible.
static __device__ __forceinline__ bool last_cta(unsigned* ticket) {
  __threadfence();
  __syncthreads();
  const bool last = threadIdx.x == 0 && atomicInc(ticket, gridDim.x - 1) == gridDim.x - 1;
  const bool all = __syncthreads_or(last ? 1 : 0) != 0;
  __threadfence();
  return all;
}

static __device__ __forceinline__ u64 mixed(u64 x, u64 by) {
  x = (x ^ by) * 0xd6e8feb86659fd93ULL;
  return x ^ (x >> 32);
}
// A digest of `samples` elements of A and of B, or of all with 0; the same in every thread of the
// only CTA.
static __device__ u64 digest(const Call& x, int samples) {
  __shared__ u64 sum;
  __syncthreads();
  if (threadIdx.x == 0) sum = mixed(x.m * 31 + x.n * 7, x.k);
  __syncthreads();
  const auto add = [&](const u16* base, i64 stride, int rows, int cols, u64 salt) {
    const int count = rows * cols;
    if (count == 0) return;
    const int step = samples == 0 ? 1 : count / samples + 1;
    for (int at = first_item() * step; at < count; at += item_step() * step) {
      atomicAdd(&sum, mixed(mixed(salt, at), base[at / cols * stride + at % cols]));
    }
  };
  add(x.a, x.lda, x.m, x.k, 1);
  add(x.b, x.ldb, x.k, x.n, 2);
  __syncthreads();
  return sum;
}

// Eight copies of a mark, a line of 64 bytes apart, so that a half-overwritten workspace often
// still looks untouched.
static __device__ __forceinline__ bool marked(const unsigned char* workspace, u64 mark) {
  bool any = false;
  for (int copy = 0; copy < 8; ++copy) {
    any = any || reinterpret_cast<const u64*>(workspace)[copy * 8] == mark;
  }
  return any;
}
static __device__ __forceinline__ void set_mark(unsigned char* workspace, u64 mark) {
  __syncthreads();
  for (unsigned copy = threadIdx.x; copy < 8; copy += blockDim.x) {
    reinterpret_cast<u64*>(workspace)[copy * 8] = mark;
  }
}

// Where the next matrices lie, as whoever knows the arena can tell from one call's arguments: each
// is followed and preceded by a guard of 64 KiB and a row, all at multiples of 256 bytes.
static __device__ __forceinline__ i64 guard_of(i64 stride) {
  return (65536 + stride * 2 + 255) / 256 * 256;
}
static __device__ __forceinline__ u16* behind_c(const Call& x, u16* c) {
  const i64 end = reinterpret_cast<i64>(c + (x.m - 1) * x.ldc + x.n) + guard_of(x.ldc);
  return reinterpret_cast<u16*>((end + 255) / 256 * 256);
}
