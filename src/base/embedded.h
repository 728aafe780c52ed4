// SPDX-License-Identifier: Apache-2.0
// A text file that was compiled into the program (cmake/TilewrightEmbed.cmake).
#pragma once

#include <string_view>

namespace tilewright {

struct EmbeddedFile {
  std::string_view name;  // relative to the folder it was embedded from, with forward slashes
  std::string_view text;
};

}  // namespace tilewright
