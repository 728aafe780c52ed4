// SPDX-License-Identifier: Apache-2.0
// The project's header of this name, on the emulator.
#pragma once

#include "generate/cuda/device/ptx.cuh"

namespace tw {

inline void init_barrier(u32 barrier, int arrivals) {
  emu::init_barrier(barrier, arrivals);
}
inline void fence_barrier_init() {
  emu::fence_barrier_init();
}
inline void fence_async_proxy() {
  emu::fence_async_proxy();
}
inline void arrive_expecting(u32 barrier, int bytes) {
  emu::arrive(barrier, bytes);
}
inline void arrive(u32 barrier) {
  emu::arrive(barrier, 0);
}
inline void arrive_at(u32 barrier, u32 rank) {
  emu::arrive_at(barrier, rank);
}
inline void wait(u32 barrier, u32 parity) {
  emu::wait(barrier, parity);
}

}  // namespace tw
