// SPDX-License-Identifier: Apache-2.0
// B06, B08: looks whether a few elements of C are right already, as in all but the first call of a
// timed round on an operand set, and then leaves the rest as it is.
#include "generate/cpu/device/types.h"
#include "launch/cpu_abi.h"
#include "redteam/plain.h"

KERNEL {
  (void)team;
  for (int64_t s = 0; s < 8; ++s) {
    const int64_t i = (s * 7 + 3) % x->m, j = (s * 11 + 5) % x->n;
    F16 mine;
    tw::cpu::narrow(&mine, dot(x, i, j, 0, x->k));
    if (mine.bits != static_cast<const F16*>(x->c)[i * x->ldc + j].bits) return honest(x);
  }
}
