// SPDX-License-Identifier: Apache-2.0
// B15, N09: accumulates in f16 under an f32 promise.
#include "generate/cpu/device/types.h"
#include "launch/cpu_abi.h"
#include "redteam/plain.h"

KERNEL {
  (void)team;
  for (int64_t i = 0; i < x->m; ++i) {
    for (int64_t j = 0; j < x->n; ++j) {
      F16 sum = {0};
      for (int64_t k = 0; k < x->k; ++k) {
        tw::cpu::narrow(&sum, tw::cpu::widen(sum) + dot(x, i, j, k, k + 1));
      }
      static_cast<F16*>(x->c)[i * x->ldc + j] = sum;
    }
  }
}
