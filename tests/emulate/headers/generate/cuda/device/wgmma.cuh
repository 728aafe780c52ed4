// SPDX-License-Identifier: Apache-2.0
// The project's header of this name, on the emulator.
#pragma once

#include "generate/cuda/device/ptx.cuh"

namespace tw {

inline void wgmma_fence() {
  emu::wgmma_fence();
}
inline void wgmma_commit() {
  emu::wgmma_commit();
}
template <int kPending>
inline void wgmma_wait() {
  emu::wgmma_wait(kPending);
}
template <int kCount>
inline void give_registers() {
  emu::set_registers(kCount, false);
}
template <int kCount>
inline void take_registers() {
  emu::set_registers(kCount, true);
}
inline void keep(float&) {}
inline void keep(u32&) {}

}  // namespace tw
