// SPDX-License-Identifier: Apache-2.0
// mma.sync and ldmatrix (PTX ISA 9.7.14, "Warp level matrix instructions"), cp.async (9.7.9.25).
#pragma once

#include "generate/cuda/device/ptx.cuh"

namespace tw {

// d (16 x 8) += a (16 x 16) * b (16 x 8). Lane l = 4 g + t holds, of a: rows g and g + 8, columns
// 2t, 2t+1 and those + 8; of b: the same columns as rows, column g; of d: rows g and g + 8, columns
// 2t, 2t+1.
template <Type T>
__device__ __forceinline__ void mma(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  if constexpr (T == Type::f16) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  } else {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
        "{%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
}

// The same with f16 accumulators, two to a register: only for problems that ask for acc=f16.
__device__ __forceinline__ void mma_f16(u32 (&d)[2], const u32 (&a)[4], u32 b0, u32 b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%0,%1};"
      : "+r"(d[0]), "+r"(d[1])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Four 8 x 8 matrices of 16-bit numbers; lanes 8i ... 8i+7 give the rows of matrix i. Transposed:
// the lane that would get (row, column) gets (column, row).
template <bool kTransposed>
__device__ __forceinline__ void load_matrices(u32 (&r)[4], u32 address) {
  if constexpr (kTransposed) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address));
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address));
  }
}

// Copies `valid` bytes to shared memory and fills up to kBytes with zeros; 16 bytes bypass L1.
template <int kSize>
__device__ __forceinline__ void copy_async(u32 to, const void* from, int valid) {
  if constexpr (kSize == 16) {
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from),
                 "r"(valid));
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(from), "n"(kSize),
                 "r"(valid));
  }
}
__device__ __forceinline__ void commit_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
// Waits until at most kPending groups of this thread are under way.
template <int kPending>
__device__ __forceinline__ void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

}  // namespace tw
