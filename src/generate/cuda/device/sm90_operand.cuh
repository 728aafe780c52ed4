// SPDX-License-Identifier: Apache-2.0
// An operand of the family sm90 in a stage of the ring: kExtent rows of A (columns of B), kDepth
// deep in K, as boxes of the copy engine that wgmma reads in place, whichever way it is stored.
//
// Along K: boxes of 64 elements of K (128 bytes, the widest swizzle) by kExtent rows. Along the
// other dimension: boxes of kAtom elements by kDepth rows of K, where kAtom is the widest of 64,
// 32, 16 that divides kExtent; wgmma transposes. Descriptor strides: PTX ISA 9.7.15.5.1, canonical
// layouts. With multicast a CTA loads one of kShare parts of each box, cut by rows.
#pragma once

#include "generate/cuda/device/tma.cuh"
#include "generate/cuda/device/wgmma.cuh"

namespace tw {

// A matrix descriptor (PTX ISA 9.7.15.5.1.2.2): where an operand begins in shared memory, the two
// strides of its 8-row core blocks, and its swizzle (bytes: 128, 64, 32, 0).
__device__ __forceinline__ u64 descriptor(u32 address, int leading_bytes, int stride_bytes,
                                          int swizzle) {
  const u64 code = swizzle == 128 ? 1 : swizzle == 64 ? 2 : swizzle == 32 ? 3 : 0;
  return static_cast<u64>((address & 0x3ffffU) >> 4U) |
         static_cast<u64>(leading_bytes >> 4) << 16U | static_cast<u64>(stride_bytes >> 4) << 32U |
         code << 62U;
}

template <int kExtent, int kDepth, bool kAlongK, int kShare>
struct BoxedOperand {
  enum : int {
    kAtom = kAlongK             ? 64
            : kExtent % 64 == 0 ? 64
            : kExtent % 32 == 0 ? 32
                                : 16,
    kSwizzle = kAtom * 2,
    kRows = kAlongK ? kExtent : kDepth,
    kBoxes = kAlongK ? kDepth / 64 : kExtent / kAtom,
    kBoxBytes = kRows * kAtom * 2,
    kBytes = kBoxes * kBoxBytes,
    kPartRows = kRows / kShare,
  };
  static_assert(kRows % (8 * kShare) == 0, "a part of a box is whole core blocks");

  // All boxes of this CTA's part, from element (at, k). `policy`: evict_first(), or none.
  template <class... Policy>
  __device__ __forceinline__ static void load(u32 to, const TensorMap& map, int at, int k,
                                              int entry, u32 barrier, int part, u16 mask,
                                              Policy... policy) {
#pragma unroll
    for (int i = 0; i < kBoxes; ++i) {
      const int column = kAlongK ? k + 64 * i : at + kAtom * i;
      const int row = (kAlongK ? at : k) + part * kPartRows;
      const u32 target = to + i * kBoxBytes + part * kPartRows * kSwizzle;
      if constexpr (kShare == 1) {
        load_box(target, map, column, row, entry, barrier, policy...);
      } else {
        load_box_multicast(target, map, column, row, entry, barrier, mask, policy...);
      }
    }
  }

  // The descriptor of the operand's first step. A's m64 block `block` and step `step` of 16 in K
  // lie advance() further.
  __device__ __forceinline__ static u64 describe(u32 address) {
    return kAlongK ? descriptor(address, 16, 1024, 128)
                   : descriptor(address, kBoxBytes, 8 * kSwizzle, kSwizzle);
  }
  // In units of 16 bytes, as a descriptor counts.
  __device__ __forceinline__ static constexpr int advance(int block, int step) {
    return (kAlongK ? block * 64 * 128 + step / 4 * kBoxBytes + step % 4 * 32
                    : block * 64 / kAtom * kBoxBytes + step * 16 * kSwizzle) /
           16;
  }
};

// Operand::load(place...), evicted first if it streams and a thread has registers for a policy.
template <class Operand, bool kPolicy, class... Place>
__device__ __forceinline__ void load_operand(bool streams, const Place&... place) {
  if (kPolicy && streams) {
    Operand::load(place..., evict_first());
  } else {
    Operand::load(place...);
  }
}

}  // namespace tw
