// SPDX-License-Identifier: Apache-2.0
// The bulk tensor copy engine of Hopper (PTX ISA 9.7.9.27, cp.async.bulk.tensor). Maps are rank 3:
// {columns, rows, batch entry}; what lies out of bounds reads as zero and is not written.
#pragma once

#include "generate/cuda/device/ptx.cuh"

namespace tw {

// As the driver encodes it; a kernel takes it as `const __grid_constant__ TensorMap`.
struct alignas(64) TensorMap {
  u64 words[16];
};

__device__ __forceinline__ void prefetch_map(const TensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

// The policy of copies whose lines the L2 is to evict first, which leaves room for what is read
// again (PTX ISA 9.7.9.18, createpolicy). Other copies have none: under any policy, evict_normal
// too, what the multiprocessors of a GPC ask for at about the same time is no longer fetched once
// (an H200: kernels of unshared tiles 20 to 90 % slower).
__device__ __forceinline__ u64 evict_first() {
  u64 policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

// One box to shared memory; its bytes complete on `barrier`.
__device__ __forceinline__ void load_box(u32 to, const TensorMap& map, int column, int row,
                                         int entry, u32 barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, "
      "{%2, %3, %4}], [%5];" ::"r"(to),
      "l"(&map), "r"(column), "r"(row), "r"(entry), "r"(barrier)
      : "memory");
}
// The same under an eviction policy.
__device__ __forceinline__ void load_box(u32 to, const TensorMap& map, int column, int row,
                                         int entry, u32 barrier, u64 policy) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
      "[%0], [%1, {%2, %3, %4}], [%5], %6;" ::"r"(to),
      "l"(&map), "r"(column), "r"(row), "r"(entry), "r"(barrier), "l"(policy)
      : "memory");
}
// The same to the same place in every CTA of the cluster whose bit is set in `mask`.
__device__ __forceinline__ void load_box_multicast(u32 to, const TensorMap& map, int column,
                                                   int row, int entry, u32 barrier, u16 mask) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::"
      "cluster [%0], [%1, {%2, %3, %4}], [%5], %6;" ::"r"(to),
      "l"(&map), "r"(column), "r"(row), "r"(entry), "r"(barrier), "h"(mask)
      : "memory");
}
__device__ __forceinline__ void load_box_multicast(u32 to, const TensorMap& map, int column,
                                                   int row, int entry, u32 barrier, u16 mask,
                                                   u64 policy) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::"
      "cluster.L2::cache_hint [%0], [%1, {%2, %3, %4}], [%5], %6, %7;" ::"r"(to),
      "l"(&map), "r"(column), "r"(row), "r"(entry), "r"(barrier), "h"(mask), "l"(policy)
      : "memory");
}

__device__ __forceinline__ void store_box(const TensorMap& map, u32 from, int column, int row,
                                          int entry) {
  asm volatile(
      "cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(&map),
      "r"(from), "r"(column), "r"(row), "r"(entry)
      : "memory");
}
__device__ __forceinline__ void store_box(const TensorMap& map, u32 from, int column, int row,
                                          int entry, u64 policy) {
  asm volatile(
      "cp.async.bulk.tensor.3d.global.shared::cta.bulk_group.L2::cache_hint [%0, {%2, %3, %4}], "
      "[%1], %5;" ::"l"(&map),
      "r"(from), "r"(column), "r"(row), "r"(entry), "l"(policy)
      : "memory");
}
__device__ __forceinline__ void commit_stores() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
// Until at most kPending of this thread's groups still read shared memory.
template <int kPending>
__device__ __forceinline__ void wait_stores_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kPending) : "memory");
}

// Four 8 x 8 matrices from registers; lanes 8i ... 8i+7 give the rows of matrix i as it is stored.
template <bool kTransposed>
__device__ __forceinline__ void store_matrices(u32 address, u32 r0, u32 r1, u32 r2, u32 r3) {
  if constexpr (kTransposed) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(
                     address),
                 "r"(r0), "r"(r1), "r"(r2), "r"(r3)
                 : "memory");
  } else {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(address),
                 "r"(r0), "r"(r1), "r"(r2), "r"(r3)
                 : "memory");
  }
}

}  // namespace tw
