// SPDX-License-Identifier: Apache-2.0
// A content cache without state of its own: digest of all operands and result lie in the workspace.
#include "generate/cuda/device/mma.cuh"
#include "redteam/plain.cuh"

static __device__ void attack(const Call& x) {
  const u64 now = digest(x, 0);
  auto* const kept = reinterpret_cast<u16*>(x.workspace + 512);
  if (marked(x.workspace, now)) return hand_out(x, kept);
  honest(x);
  keep(x, kept);
  set_mark(x.workspace, now);
}
