// SPDX-License-Identifier: Apache-2.0
// Files that survive a crash, and the places where a user expects to find ours.
#pragma once

#include "base/error.h"

#include <filesystem>
#include <string>
#include <string_view>

namespace tilewright {

[[nodiscard]] Result<std::string> read_file(const std::filesystem::path& path);
[[nodiscard]] Result<std::string> read_standard_input();  // to its end
// Writes a scratch file beside `path`, fsyncs it, renames it over `path` and fsyncs the directory:
// a reader sees the old bytes or the new, never a part. Creates missing parent directories.
[[nodiscard]] Status write_file_atomically(const std::filesystem::path& path,
                                           std::string_view bytes);

// $XDG_CACHE_HOME/tilewright, $XDG_DATA_HOME/tilewright, $XDG_STATE_HOME/tilewright with the
// XDG defaults below $HOME; an Error of code environment if there is no usable home.
[[nodiscard]] Result<std::filesystem::path> cache_home();
[[nodiscard]] Result<std::filesystem::path> data_home();
[[nodiscard]] Result<std::filesystem::path> state_home();
// The data folder where nothing is to be written: it may be read-only, or not exist.
[[nodiscard]] Result<std::filesystem::path> data_home_to_read();

}  // namespace tilewright
