// SPDX-License-Identifier: Apache-2.0
// Private to onednn_api.cc and onednn_operation.cc: a memory descriptor of either version.
#pragma once

#include "baseline/onednn_api.h"

namespace tilewright {

// More than any structure of version 2; the largest, a convolution's, holds eight descriptors of
// 696 bytes.
inline constexpr std::size_t kOnednnBlockBytes = 16384;

struct OnednnApi::Descriptor {
  std::unique_ptr<std::byte[]> block;     // version 2
  OnednnHandle handle{nullptr, nullptr};  // version 3
  [[nodiscard]] const void* get() const { return block ? block.get() : handle.get(); }
};

}  // namespace tilewright
