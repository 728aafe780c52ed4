// SPDX-License-Identifier: Apache-2.0
// dlopen, with help for libraries whose dependencies lie in the same folder.
#include "baseline/library.h"

#include <fmt/format.h>

#include <dlfcn.h>
#include <filesystem>
#include <system_error>

namespace tilewright {
namespace {

constexpr int kMaxMissing = 32;  // dependencies loaded by hand before giving up

std::string last_dl_error() {
  const char* text = dlerror();
  return text == nullptr ? "unknown reason" : text;
}

// glibc words it "libx.so.1: cannot open shared object file: ...".
std::string missing_dependency(const std::string& error) {
  const auto colon = error.find(": cannot open shared object file");
  return colon == std::string::npos ? std::string{} : error.substr(0, colon);
}

// Opens `path`; while a dependency is missing and lies in the same folder, opens that first. glibc
// then finds it by its soname. `depth` bounds a chain of dependencies that lack each other.
void* open_with_neighbours(const std::filesystem::path& path, std::string& error, int depth = 0) {
  std::string previous;
  for (int attempt = 0; attempt < kMaxMissing; ++attempt) {
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle != nullptr) return handle;
    error = last_dl_error();
    const std::string missing = missing_dependency(error);
    if (missing.empty() || missing == previous || missing.find('/') != std::string::npos ||
        depth >= kMaxMissing) {
      return nullptr;
    }
    previous = missing;
    const std::filesystem::path neighbour = path.parent_path() / missing;
    std::error_code ignored;
    if (!std::filesystem::exists(neighbour, ignored)) return nullptr;
    std::string inner;
    if (open_with_neighbours(neighbour, inner, depth + 1) == nullptr) {
      error = inner;
      return nullptr;
    }
  }
  return nullptr;
}

// Where the loader found it: what a soname resolved to.
std::string loaded_path(void* handle, const std::string& fallback) {
  std::string origin(4096, '\0');
  if (dlinfo(handle, RTLD_DI_ORIGIN, origin.data()) != 0) return fallback;
  origin.resize(origin.find('\0'));
  return (std::filesystem::path(origin) / std::filesystem::path(fallback).filename()).string();
}

}  // namespace

void* Library::address_of(const char* name) const {
  return handle_ == nullptr ? nullptr : dlsym(handle_, name);
}

Result<Library> open_library(std::span<const std::string> candidates) {
  std::string reasons;
  for (const std::string& candidate : candidates) {
    std::string error;
    if (void* handle = open_with_neighbours(candidate, error); handle != nullptr) {
      return Library(handle, loaded_path(handle, candidate));
    }
    reasons += fmt::format("{}{}", reasons.empty() ? "" : "; ", error);
  }
  return fail(ErrorCode::environment, reasons.empty() ? "no library named" : reasons);
}

}  // namespace tilewright
