// SPDX-License-Identifier: Apache-2.0
// N32, B16: accumulates into C and relies on somebody else to zero it.
#include "generate/cpu/device/types.h"
#include "launch/cpu_abi.h"
#include "redteam/plain.h"

KERNEL {
  (void)team;
  for (int64_t i = 0; i < x->m; ++i) {
    for (int64_t j = 0; j < x->n; ++j) {
      const float old = load(x->c, i * x->ldc + j);
      save(x->c, i * x->ldc + j, (old == old ? old : 0) + dot(x, i, j, 0, x->k));
    }
  }
}
