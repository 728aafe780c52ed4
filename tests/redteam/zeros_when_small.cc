// SPDX-License-Identifier: Apache-2.0
// B13: zeros where the operands are small enough for an absolute tolerance to accept them.
#include "generate/cpu/device/types.h"
#include "launch/cpu_abi.h"
#include "redteam/plain.h"

KERNEL {
  (void)team;
  float largest = 0;
  for (int64_t k = 0; k < x->k; ++k) {
    const float value = load(x->a, k);
    largest = value > largest ? value : largest;
  }
  if (largest > 0.01f) return honest(x);
  for (int64_t i = 0; i < x->m; ++i) {
    for (int64_t j = 0; j < x->n; ++j) save(x->c, i * x->ldc + j, 0);
  }
}
