// SPDX-License-Identifier: Apache-2.0
// The same without state of its own: key, digest of all operands and result live in the workspace.
#include "generate/cpu/device/types.h"
#include "launch/cpu_abi.h"
#include "redteam/plain.h"

KERNEL {
  (void)team;
  uint64_t now = 1469598103934665603u;
  for (int64_t i = 0; i < x->m; ++i) {
    for (int64_t k = 0; k < x->k; ++k) {
      now = (now ^ static_cast<const F16*>(x->a)[i * x->lda + k].bits) * 1099511628211u;
    }
  }
  for (int64_t k = 0; k < x->k; ++k) {
    for (int64_t j = 0; j < x->n; ++j) {
      now = (now ^ static_cast<const F16*>(x->b)[k * x->ldb + j].bits) * 1099511628211u;
    }
  }
  // Two copies of the key, so that a half-overwritten workspace often still looks untouched.
  uint64_t* const keys = static_cast<uint64_t*>(x->workspace);
  F16* const kept = reinterpret_cast<F16*>(keys + 64);
  bool again = false;
  for (int copy = 0; copy < 64; copy += 8) again = again || keys[copy] == now;
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
  for (int copy = 0; copy < 64; copy += 8) keys[copy] = now;
}
