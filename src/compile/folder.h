// SPDX-License-Identifier: Apache-2.0
// Folders and locks among processes that may die at any moment.
//
// Who is alive is asked of the kernel, by flock(2): a lock goes with its process, however that
// ended, while a process id may be another's by now or mean nothing in another container. Where a
// file system has no such locks, nothing of others is ever removed.
#pragma once

#include "base/error.h"

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

class FileLock {
 public:
  enum class Mode { shared, exclusive };
  // Locks the file or folder at `path`, which must exist, trying for `patience`. Nothing if others
  // hold it for longer or it cannot be locked at all.
  [[nodiscard]] static std::optional<FileLock> take(const std::filesystem::path& path, Mode mode,
                                                    std::chrono::milliseconds patience);
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;
  ~FileLock();

  // Whether `path` is still what was locked: not removed or replaced meanwhile.
  [[nodiscard]] bool still_at(const std::filesystem::path& path) const;

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  int fd_;
};

// A folder of this process, locked while it lives and removed with everything in it at the end.
class OwnedFolder {
 public:
  // A new folder `<parent>/<prefix><something unique>`.
  [[nodiscard]] static Result<OwnedFolder> make(const std::filesystem::path& parent,
                                                std::string_view prefix, unsigned mode);
  OwnedFolder(OwnedFolder&& other) noexcept;
  OwnedFolder& operator=(OwnedFolder&& other) noexcept;
  ~OwnedFolder();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  // The folder has been moved elsewhere: leave it alone from now on.
  void release();

 private:
  OwnedFolder(std::filesystem::path path, std::optional<FileLock> lock);
  std::filesystem::path path_;  // empty: nothing to remove
  std::optional<FileLock> lock_;
};

// Removes the folders and files `<parent>/<prefix>...` whose owners are gone.
void remove_dead(const std::filesystem::path& parent, std::string_view prefix);

// What is in a folder, sorted by name; empty if it cannot be read.
[[nodiscard]] std::vector<std::filesystem::path> children(const std::filesystem::path& folder);

}  // namespace tilewright
