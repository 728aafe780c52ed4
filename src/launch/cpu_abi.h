// SPDX-License-Identifier: Apache-2.0
// The C ABI between a host (the runner, the runtime library) and a CPU kernel.
//
// A kernel is one function that every thread of a team calls. The host owns threads, memory and
// clock; the kernel owns arithmetic only: it keeps no state between calls, allocates nothing and
// calls no library. This file is plain C so that a hand-written candidate can include it.
#ifndef TILEWRIGHT_LAUNCH_CPU_ABI_H
#define TILEWRIGHT_LAUNCH_CPU_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// C[b] = activation(alpha * op(A[b]) * op(B[b]) + beta * C[b] + bias) for b in [0, batch).
//
// Storage is row-major. Layout letter n: A is m x k, B is k x n; letter t: A is k x m, B is n x k.
// lda, ldb, ldc are row strides and stride_* batch strides, all in elements. Element types and
// layout are fixed when the kernel is generated; the numbers below may vary from call to call
// unless the kernel is `static`. beta == 0 means that C is never read. Bias and activation belong
// to the runtime library: they are applied to the f32 result before its one rounding. A candidate
// is proven and timed without them (null, 0) and may ignore them.
enum { TW_CPU_NO_ACTIVATION = 0, TW_CPU_RELU = 1, TW_CPU_GELU = 2, TW_CPU_SILU = 3 };

typedef struct tw_cpu_gemm_args {
  const void* a;
  const void* b;
  void* c;
  int64_t m, n, k;
  int64_t lda, ldb, ldc;
  int64_t batch, stride_a, stride_b, stride_c;
  float alpha, beta;
  void* workspace;     // as many bytes as the launch description asks, 64-byte aligned, undefined
  const void* bias;    // n numbers of C's type, added to every row, or null
  int32_t activation;  // a TW_CPU_ number
} tw_cpu_gemm_args;

// The team that runs a call: `threads` threads make the same call with thread = 0 ... threads-1.
// barrier(state) returns once all of them have entered it.
typedef struct tw_cpu_team {
  int32_t thread, threads;
  void (*barrier)(void* state);
  void* state;
} tw_cpu_team;

typedef void (*tw_cpu_gemm_fn)(const tw_cpu_gemm_args* args, const tw_cpu_team* team);

#ifdef __cplusplus
}
#endif

#endif  // TILEWRIGHT_LAUNCH_CPU_ABI_H
