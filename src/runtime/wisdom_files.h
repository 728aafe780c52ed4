// SPDX-License-Identifier: Apache-2.0
// The wisdom that counts for a device: which files, in which order, and what was wrong with them.
//
// TILEWRIGHT_WISDOM (files or folders, between colons), the user's data folder, /etc/tilewright,
// and the folder that was installed with the library. A folder has one file for each device,
// <fingerprint>.txt. What one file says is not overruled by a later one. A file that is damaged, or
// of another device, is a miss with a warning: nothing here fails.
#pragma once

#include "device/device.h"
#include "record/wisdom.h"
#include "runtime/backend.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::runtime {

struct KnownWisdom {
  std::vector<WisdomEntry> entries;   // of one problem and mode at most one
  std::vector<std::string> files;     // that were read
  std::vector<std::string> warnings;  // a line for each file that was refused
};
[[nodiscard]] KnownWisdom known_wisdom(const Options& options, const Device& device);

// Warnings go to stderr, once each per call: who makes a handle learns why it is slower than it
// was.
void warn(const std::vector<std::string>& lines);

// Where a kind of installed files ("wisdom", "kernels") can lie, in the order above: what
// $TILEWRIGHT_<KIND> lists, then folders of that name. They need not exist.
[[nodiscard]] std::vector<std::filesystem::path> installed_places(std::string_view kind);

}  // namespace tilewright::runtime
