// SPDX-License-Identifier: Apache-2.0
// What the red team's kernels share: an honest scalar f16 kernel (nn) and the pieces it is made of.
// A fixture departs from it in one way and says in its first lines which and who reported it.
#pragma once

using tw::cpu::F16;

static inline float load(const void* base, int64_t index) {
  return tw::cpu::widen(static_cast<const F16*>(base)[index]);
}
static inline void save(void* base, int64_t index, float value) {
  tw::cpu::narrow(static_cast<F16*>(base) + index, value);
}
// The sum over k in [begin, end) of one element.
static inline float dot(const tw_cpu_gemm_args* x, int64_t i, int64_t j, int64_t begin,
                        int64_t end) {
  float sum = 0;
  for (int64_t k = begin; k < end; ++k)
    sum += load(x->a, i * x->lda + k) * load(x->b, k * x->ldb + j);
  return sum;
}
// Rows [first, last) of C = alpha A B + beta C, k in [0, depth).
static inline void rows(const tw_cpu_gemm_args* x, int64_t first, int64_t last, int64_t depth) {
  for (int64_t i = first; i < last; ++i) {
    for (int64_t j = 0; j < x->n; ++j) {
      float value = x->alpha == 0 ? 0 : x->alpha * dot(x, i, j, 0, depth);
      if (x->beta != 0) value += x->beta * load(x->c, i * x->ldc + j);
      save(x->c, i * x->ldc + j, value);
    }
  }
}
static inline void honest(const tw_cpu_gemm_args* x) {
  rows(x, 0, x->m, x->k);
}

#define KERNEL extern "C" void tw_kernel(const tw_cpu_gemm_args* x, const tw_cpu_team* team)
