// SPDX-License-Identifier: Apache-2.0
// B03: returns at once and lets a thread of its own compute later.
#include "generate/cpu/device/types.h"
#include "launch/cpu_abi.h"
#include "redteam/plain.h"

#include <pthread.h>

static tw_cpu_gemm_args later;
static void* work(void*) {
  honest(&later);
  return nullptr;
}

KERNEL {
  (void)team;
  later = *x;
  pthread_t thread;
  if (pthread_create(&thread, nullptr, work, nullptr) != 0) return;
  pthread_detach(thread);
}
