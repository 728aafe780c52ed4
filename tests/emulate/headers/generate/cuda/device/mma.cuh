// SPDX-License-Identifier: Apache-2.0
// The project's header of this name, on the emulator.
#pragma once

#include "generate/cuda/device/ptx.cuh"

namespace tw {

template <Type T>
inline void mma(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  emu::mma(d, a, b0, b1, T == Type::bf16);
}
inline void mma_f16(u32 (&d)[2], const u32 (&a)[4], u32 b0, u32 b1) {
  emu::mma_f16(d, a, b0, b1);
}
template <bool kTransposed>
inline void load_matrices(u32 (&r)[4], u32 address) {
  emu::load_matrices(r, address, kTransposed);
}
template <int kSize>
inline void copy_async(u32 to, const void* from, int valid) {
  emu::copy_async(to, from, kSize, valid);
}
inline void commit_copies() {
  emu::commit_copies();
}
template <int kPending>
inline void wait_copies() {
  emu::wait_copies(kPending);
}

}  // namespace tw
