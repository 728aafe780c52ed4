// SPDX-License-Identifier: Apache-2.0
// A structure from a caller who may have been compiled with an older or a newer header.
//
// Fields are only ever added at the end, and each has a meaning for 0. So of an older caller's
// structure the missing tail is 0, and a newer caller's is fine as long as what we do not know is
// 0.
#pragma once

#include "runtime/call.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace tilewright::runtime {

// Bytes of each structure in the first version that had it.
template <class T>
inline constexpr std::size_t kFirstSize = sizeof(T);
template <>
inline constexpr std::size_t kFirstSize<tw_options> = offsetof(tw_options, timing_ms);

// Beyond this `size` was never set.
inline constexpr std::size_t kLargestStructure = 4096;

template <class T>
[[nodiscard]] tl::expected<T, Failure> known_part(const T* given, std::string_view argument,
                                                  std::string_view type) {
  static_assert(std::is_trivially_copyable_v<T>);
  const auto bad = [](std::string message) {
    return tl::unexpected(Failure{TW_INVALID, std::move(message)});
  };
  if (given == nullptr) return bad(fmt::format("{}=NULL", argument));
  std::uint32_t stated = 0;
  std::memcpy(&stated, given, sizeof stated);
  if (stated < kFirstSize<T> || stated > kLargestStructure) {
    return bad(fmt::format("{}->size={} is no size of a {} ({} here): call {}_init first", argument,
                           stated, type, sizeof(T), type));
  }
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  for (std::size_t at = sizeof(T); at < stated; ++at) {
    if (bytes[at] != 0) {
      return bad(fmt::format(
          "{}->size={} is larger than the {} of this library ({}), and what follows is not 0",
          argument, stated, type, sizeof(T)));
    }
  }
  T known{};
  std::memcpy(static_cast<void*>(&known), bytes, std::min<std::size_t>(stated, sizeof(T)));
  return known;
}

}  // namespace tilewright::runtime
