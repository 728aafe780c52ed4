// SPDX-License-Identifier: Apache-2.0
// B21: a barrier at which only one thread of two arrives.
#include "generate/cpu/device/types.h"
#include "launch/cpu_abi.h"
#include "redteam/plain.h"

KERNEL {
  if (team->thread == 0) team->barrier(team->state);
  honest(x);
}
