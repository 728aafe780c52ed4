// SPDX-License-Identifier: Apache-2.0
// B21: never returns.
#include "generate/cpu/device/types.h"
#include "launch/cpu_abi.h"
#include "redteam/plain.h"

KERNEL {
  (void)team;
  honest(x);
  for (volatile int i = 0;; ++i) {
  }
}
