// SPDX-License-Identifier: Apache-2.0
// Which entries of a cache are in use by whom, so that none is evicted under its user.
//
// One file per user of the cache, locked while that user lives, with a line for each entry it uses:
// a tuning run holds thousands of entries, too many for a lock or an open file each.
#pragma once

#include "base/error.h"
#include "compile/folder.h"

#include <filesystem>
#include <memory>
#include <mutex>
#include <set>
#include <string>

namespace tilewright {

class Holds {
 public:
  // A new list in `folder`, where all users of the cache keep theirs.
  [[nodiscard]] static Result<Holds> make(const std::filesystem::path& folder);
  // From now until destruction the entry `key` is held. Thread-safe.
  void add(const std::string& key);
  // Everything held by users that are alive; drops the lists of those that are not.
  [[nodiscard]] static std::set<std::string> live(const std::filesystem::path& folder);

 private:
  explicit Holds(OwnedFolder folder);
  OwnedFolder folder_;
  std::unique_ptr<std::mutex> mutex_;
  std::set<std::string> keys_;
};

}  // namespace tilewright
