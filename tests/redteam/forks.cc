// SPDX-License-Identifier: Apache-2.0
// B22: leaves a child behind.
#include "generate/cpu/device/types.h"
#include "launch/cpu_abi.h"
#include "redteam/plain.h"

#include <unistd.h>

KERNEL {
  (void)team;
  honest(x);
  if (fork() == 0) pause();
}
