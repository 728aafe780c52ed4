// SPDX-License-Identifier: Apache-2.0
// Matrices in device memory as the checker's kernels see them; the counterpart of strided.h.
#pragma once

#include "execute/cuda/device_arena.h"
#include "verify/cuda/kernels/arguments.h"

#include <cstdint>

namespace tilewright {

[[nodiscard]] DeviceView device_a(const DeviceArena& arena, int set);
[[nodiscard]] DeviceView device_b(const DeviceArena& arena, int set);
[[nodiscard]] DeviceView device_c(const DeviceArena& arena, int set, Owner owner);
// Packed storage of ours.
[[nodiscard]] DeviceView packed_device_a(const Problem& problem, cuda::Pointer at);
[[nodiscard]] DeviceView packed_device_b(const Problem& problem, cuda::Pointer at);

[[nodiscard]] constexpr std::int64_t elements(const DeviceView& view) {
  return view.batches * view.rows * view.cols;
}
[[nodiscard]] std::int64_t bytes_of(const DeviceView& view);  // as packed

// The widest word, of 8, 4 or 2 bytes, of which every row of `view` is whole ones at its place. A
// packed copy of the matrix has the same.
[[nodiscard]] int word_bytes(const DeviceView& view);
// The same matrix with columns and strides in such words.
[[nodiscard]] DeviceView in_words(DeviceView view, int bytes);

}  // namespace tilewright
