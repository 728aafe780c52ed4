// SPDX-License-Identifier: Apache-2.0
// One entry of the compile cache: a folder with everything that made a binary, and a seal.
//
//   kernel.cc include/... exports.map   what was compiled (for CUDA kernel.cu include/...)
//   kernel.so build.log                 what came out (for CUDA kernel.cubin build.log)
//   meta.json                           the seal: key, compiler, and size and hash of each file
//
// Whoever reads an entry checks it against its seal, so that a file damaged by a crash, a full disk
// or a person is noticed before it is loaded.
#pragma once

#include "base/error.h"

#include <array>
#include <filesystem>
#include <string>
#include <string_view>

namespace tilewright {

// Raised whenever the layout of an entry or what a key covers changes.
inline constexpr int kCacheFormat = 1;

inline constexpr std::string_view kHeaderFolder = "include";
inline constexpr std::string_view kExportsFile = "exports.map";
inline constexpr std::string_view kLogFile = "build.log";
inline constexpr std::string_view kSealFile = "meta.json";

// What differs between the entries of one language and another's.
struct EntryKind {
  std::string_view place;   // folder of the cache that has them
  std::string_view source;  // what was compiled
  std::string_view object;  // what came out
  bool exports = false;     // the linker is told what to export
};
inline constexpr EntryKind kCpuEntry = {"cpu", "kernel.cc", "kernel.so", true};
inline constexpr EntryKind kCudaEntry = {"cuda", "kernel.cu", "kernel.cubin", false};
inline constexpr std::array kEntryKinds = {kCpuEntry, kCudaEntry};

struct Origin {
  std::string key;
  std::string compiler;  // its version line
  std::string launch;    // JSON
  double compile_seconds = 0;
};

struct Entry {
  std::string object, log;  // contents of the object and of build.log
  std::string compiler;     // the version line of what made it
};

// A name such as `a/b.h`: relative, without `.`, `..`, empty parts or control characters.
[[nodiscard]] bool is_plain_name(std::string_view name);

// Writes `bytes` to `folder/name`, with the folders that the name needs. Not synced: see seal().
[[nodiscard]] Status put(const std::filesystem::path& folder, std::string_view name,
                         std::string_view bytes);
// Writes meta.json over all files in `folder` and syncs them bottom-up.
[[nodiscard]] Status seal(const std::filesystem::path& folder, const Origin& origin);
[[nodiscard]] Status sync_path(const std::filesystem::path& path);
// The entry, if it is whole and answers to `key`; else what is wrong with it.
[[nodiscard]] Result<Entry> read_entry(const std::filesystem::path& folder, const std::string& key,
                                       const EntryKind& kind = kCpuEntry);

}  // namespace tilewright
