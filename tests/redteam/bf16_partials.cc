// SPDX-License-Identifier: Apache-2.0
// B15, N08: rounds the partial sums of every 64 terms to bf16.
#include "generate/cpu/device/types.h"
#include "launch/cpu_abi.h"
#include "redteam/plain.h"

KERNEL {
  (void)team;
  for (int64_t i = 0; i < x->m; ++i) {
    for (int64_t j = 0; j < x->n; ++j) {
      float sum = 0;
      for (int64_t k = 0; k < x->k; k += 64) {
        tw::cpu::Bf16 part;
        tw::cpu::narrow(&part, dot(x, i, j, k, k + 64 < x->k ? k + 64 : x->k));
        sum += tw::cpu::widen(part);
      }
      save(x->c, i * x->ldc + j, sum);
    }
  }
}
