// SPDX-License-Identifier: Apache-2.0
// XXH3-128 as 32 hexadecimal digits: stable across machines and versions, unlike std::hash.
#pragma once

#include <string>
#include <string_view>

namespace tilewright {

[[nodiscard]] std::string hash128(std::string_view bytes);

}  // namespace tilewright
