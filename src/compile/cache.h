// SPDX-License-Identifier: Apache-2.0
// The compile cache: folders named after what they hold, shared by threads and processes.
//
//   <root>/v1/cpu/<key>/   entries (entry.h), each complete from the moment its name exists
//   <root>/v1/cuda/<key>/  the same for CUDA: cubins need no tool where they run, so this folder
//   may
//                          be filled on one machine and carried to another
//   <root>/v1/scratch/     entries being made; one that its process left behind is removed
//   <root>/v1/holds/       which entries are in use (holds.h)
//   <root>/v1/aside/       damaged entries, kept for a look until space is needed
//   <root>/v1/lock         shared while an entry is looked up or added, exclusive while one goes
//
// Two processes that make the same entry both succeed: the second to finish takes the first's.
#pragma once

#include "base/error.h"
#include "compile/entry.h"
#include "compile/folder.h"
#include "compile/holds.h"

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

using Warn = std::function<void(const std::string&)>;

class Cache {
 public:
  // An Error if the folder cannot be made, written or searched.
  [[nodiscard]] static Result<std::unique_ptr<Cache>> open(const std::filesystem::path& root,
                                                           std::int64_t cap_bytes, Warn warn);
  // All of these are thread-safe.

  // The entry, checked, marked as used now and held while this object lives. A damaged one is
  // set aside with one warning and is then as good as absent.
  [[nodiscard]] std::optional<Entry> find(const std::string& key,
                                          const EntryKind& kind = kCpuEntry);
  [[nodiscard]] std::filesystem::path folder_of(const std::string& key,
                                                const EntryKind& kind = kCpuEntry) const;
  // A folder to make an entry in.
  [[nodiscard]] Result<OwnedFolder> scratch() const;
  // Seals the folder and gives it its name; the folder that holds the entry from now on: the named
  // one, or the scratch folder itself (kept while this object lives) if it cannot be named.
  [[nodiscard]] std::filesystem::path add(OwnedFolder made, const Origin& origin,
                                          const EntryKind& kind = kCpuEntry);
  // Removes the least recently used entries beyond the cap. add() calls it now and then.
  void evict();

 private:
  Cache(std::filesystem::path home, std::int64_t cap_bytes, Warn warn, Holds holds);
  void warn(const std::string& message);
  void set_aside(const std::string& key, const EntryKind& kind);
  void evict_if_due(const std::filesystem::path& added);

  const std::filesystem::path home_;  // <root>/v1
  const std::int64_t cap_bytes_;
  const Warn warn_;
  Holds holds_;
  std::atomic<std::int64_t> added_bytes_ = 0;  // since the last eviction of ours
  std::mutex mutex_;                           // guards kept_ and calls of warn_
  std::vector<OwnedFolder> kept_;
};

}  // namespace tilewright
