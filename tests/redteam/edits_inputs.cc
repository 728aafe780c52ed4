// SPDX-License-Identifier: Apache-2.0
// B11: zeroes A and B, so that zeros are right.
#include "generate/cpu/device/types.h"
#include "launch/cpu_abi.h"
#include "redteam/plain.h"

KERNEL {
  (void)team;
  for (int64_t i = 0; i < x->m; ++i) {
    for (int64_t k = 0; k < x->k; ++k) save(const_cast<void*>(x->a), i * x->lda + k, 0);
  }
  for (int64_t k = 0; k < x->k; ++k) {
    for (int64_t j = 0; j < x->n; ++j) save(const_cast<void*>(x->b), k * x->ldb + j, 0);
  }
  for (int64_t i = 0; i < x->m; ++i) {
    for (int64_t j = 0; j < x->n; ++j) save(x->c, i * x->ldc + j, 0);
  }
}
