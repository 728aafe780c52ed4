// SPDX-License-Identifier: Apache-2.0
// Private to onednn_api.cc and onednn_operation.cc: a memory descriptor of either version, and the
// numbers of the ABI that both use.
#pragma once

#include "baseline/onednn_api.h"

#include <string_view>

namespace tilewright {
namespace onednn {

inline constexpr int kSuccess = 0, kUnimplemented = 3;
inline constexpr int kScratchpadOfUser = 1;   // dnnl_scratchpad_mode_user
inline constexpr int kQueryName = 8;          // dnnl_query_impl_info_str
inline constexpr int kQueryScratchpad = 136;  // dnnl_query_scratchpad_md
[[nodiscard]] Status succeeded(int status, std::string_view what);
[[nodiscard]] int type_code(ElementType type);  // dnnl_data_type_t

}  // namespace onednn

// More than any structure of version 2; the largest, a convolution's, holds eight descriptors of
// 696 bytes.
inline constexpr std::size_t kOnednnBlockBytes = 16384;

struct OnednnApi::Descriptor {
  std::unique_ptr<std::byte[]> block;     // version 2
  OnednnHandle handle{nullptr, nullptr};  // version 3
  [[nodiscard]] const void* get() const { return block ? block.get() : handle.get(); }
};

}  // namespace tilewright
