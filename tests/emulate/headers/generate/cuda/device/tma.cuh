// SPDX-License-Identifier: Apache-2.0
// The project's header of this name, on the emulator.
#pragma once

#include "generate/cuda/device/ptx.cuh"

namespace tw {

struct alignas(64) TensorMap {
  u64 words[16];
};

inline void prefetch_map(const TensorMap& map) {
  emu::check_map(&map);
}
// What the L2 keeps alters no result.
inline u64 evict_first() {
  return 0;
}
inline void load_box(u32 to, const TensorMap& map, int column, int row, int entry, u32 barrier,
                     u64 = 0) {
  emu::load_box(to, &map, column, row, entry, barrier, -1);
}
inline void load_box_multicast(u32 to, const TensorMap& map, int column, int row, int entry,
                               u32 barrier, u16 mask, u64 = 0) {
  emu::load_box(to, &map, column, row, entry, barrier, mask);
}
inline void store_box(const TensorMap& map, u32 from, int column, int row, int entry, u64 = 0) {
  emu::store_box(&map, from, column, row, entry);
}
inline void commit_stores() {
  emu::commit_stores();
}
template <int kPending>
inline void wait_stores_read() {
  emu::wait_stores(kPending);
}
template <bool kTransposed>
inline void store_matrices(u32 address, u32 r0, u32 r1, u32 r2, u32 r3) {
  const u32 r[4] = {r0, r1, r2, r3};
  emu::store_matrices(address, r, kTransposed);
}

}  // namespace tw
