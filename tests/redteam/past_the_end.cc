// SPDX-License-Identifier: Apache-2.0
// B20: C is right, and one element after its last is written.
#include "generate/cpu/device/types.h"
#include "launch/cpu_abi.h"
#include "redteam/plain.h"

KERNEL {
  (void)team;
  honest(x);
  if (x->m > 0) save(x->c, (x->m - 1) * x->ldc + x->n, 0);
}
