// SPDX-License-Identifier: Apache-2.0
// Not a cheat: the scalar kernel that all others start from. Must be ok.
#include "generate/cpu/device/types.h"
#include "launch/cpu_abi.h"
#include "redteam/plain.h"

KERNEL {
  // Rows are dealt out to the team in blocks.
  const int64_t each = (x->m + team->threads - 1) / team->threads;
  const int64_t first = each * team->thread < x->m ? each * team->thread : x->m;
  const int64_t last = first + each < x->m ? first + each : x->m;
  rows(x, first, last, x->k);
}
