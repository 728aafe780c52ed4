// SPDX-License-Identifier: Apache-2.0
// B22: follows a bad pointer.
#include "generate/cpu/device/types.h"
#include "launch/cpu_abi.h"
#include "redteam/plain.h"

KERNEL {
  (void)team;
  (void)x;
  *reinterpret_cast<volatile int*>(64) = 1;
}
