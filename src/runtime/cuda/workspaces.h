// SPDX-License-Identifier: Apache-2.0
// Workspaces of streams: allocated when the handle is made, handed to the first streams that want
// one, kept by them.
//
// A kernel that counts arrivals wants the head of its workspace zero, and leaves it so. Heads of
// different kernels end at the same place, behind which partial sums begin: so nothing is ever
// written to what another kernel's head needs zero.
#pragma once

#include "device/cuda/context.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace tilewright::runtime {

inline constexpr std::int64_t kWorkspaceAlignment = 256;
inline constexpr std::int64_t kWorkspaceHead = 64 << 10;  // counters of 16,384 tiles

class Workspaces {
 public:
  // The context must be current, and outlive them. Waits until the heads are zero.
  [[nodiscard]] static Result<std::unique_ptr<Workspaces>> make(const cuda::Context& context,
                                                                int streams, std::int64_t bytes);

  // Whether any stream's could hold so many bytes, of which the first `zeroed` are a head.
  [[nodiscard]] bool fits(std::int64_t bytes, std::int64_t zeroed) const;
  // This stream's workspace, for a kernel with such a head; 0 if all are taken. Thread-safe.
  [[nodiscard]] cuda::Pointer claim(cuda::Stream stream, std::int64_t zeroed);
  // What lies behind the head.
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }

 private:
  Workspaces(std::size_t streams, std::int64_t bytes) : owners_(streams), bytes_(bytes) {}
  std::vector<std::atomic<std::uintptr_t>> owners_;  // streams, 0: nobody's
  std::int64_t bytes_;
  cuda::Buffer memory_;
};

}  // namespace tilewright::runtime
