// SPDX-License-Identifier: Apache-2.0
// B22: aborts.
#include "generate/cpu/device/types.h"
#include "launch/cpu_abi.h"
#include "redteam/plain.h"

#include <stdlib.h>

KERNEL {
  (void)team;
  if (x->m > 0) abort();
}
