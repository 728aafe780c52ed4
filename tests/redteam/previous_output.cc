// SPDX-License-Identifier: Apache-2.0
// B06: hands out its previous result when all three pointers are those of the call before.
#include "generate/cpu/device/types.h"
#include "launch/cpu_abi.h"
#include "redteam/plain.h"

static const void *a, *b, *c;
static F16 kept[1 << 20];

KERNEL {
  (void)team;
  const bool again = x->a == a && x->b == b && x->c == c;
  if (!again) honest(x);
  for (int64_t i = 0; i < x->m; ++i) {
    for (int64_t j = 0; j < x->n; ++j) {
      F16* here = static_cast<F16*>(x->c) + i * x->ldc + j;
      F16* there = kept + i * x->n + j;
      if (again) {
        *here = *there;
      } else {
        *there = *here;
      }
    }
  }
  a = x->a;
  b = x->b;
  c = x->c;
}
