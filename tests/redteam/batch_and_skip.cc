// SPDX-License-Identifier: Apache-2.0
// B08: remembers the operand sets it has met; a call on the first computes them all, others return.
#include "generate/cpu/device/types.h"
#include "launch/cpu_abi.h"
#include "redteam/plain.h"

static tw_cpu_gemm_args met[64];
static int count;

KERNEL {
  (void)team;
  for (int i = 0; i < count; ++i) {
    if (met[i].c != x->c || met[i].m != x->m || met[i].n != x->n || met[i].k != x->k) continue;
    if (i > 0) return;  // the first one does it
    for (int j = 0; j < count; ++j) honest(met + j);
    return;
  }
  if (count < 64) met[count++] = *x;
  honest(x);
}
