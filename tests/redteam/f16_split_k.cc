// SPDX-License-Identifier: Apache-2.0
// B15: a split-K kernel whose threads leave f16 partials in the workspace.
#include "generate/cpu/device/types.h"
#include "launch/cpu_abi.h"
#include "redteam/plain.h"

KERNEL {
  F16* const parts = static_cast<F16*>(x->workspace);
  const int64_t size = x->m * x->n;
  const int64_t begin = x->k * team->thread / team->threads;
  const int64_t end = x->k * (team->thread + 1) / team->threads;
  for (int64_t i = 0; i < x->m; ++i) {
    for (int64_t j = 0; j < x->n; ++j) {
      save(parts + team->thread * size, i * x->n + j, dot(x, i, j, begin, end));
    }
  }
  team->barrier(team->state);
  if (team->thread != 0) return;
  for (int64_t i = 0; i < x->m; ++i) {
    for (int64_t j = 0; j < x->n; ++j) {
      float sum = 0;
      for (int t = 0; t < team->threads; ++t) sum += load(parts + t * size, i * x->n + j);
      save(x->c, i * x->ldc + j, sum);
    }
  }
}
