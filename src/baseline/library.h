// SPDX-License-Identifier: Apache-2.0
// A vendor's shared library, opened at run time so that our own binary needs only glibc.
//
// Wheels put a library beside its dependencies but record no path to them, so a plain dlopen of
// the one fails for want of the other. open_library() loads such neighbours first. A library is
// never closed: its worker threads may still be in it.
#pragma once

#include "base/error.h"

#include <span>
#include <string>

namespace tilewright {

class Library {
 public:
  Library() = default;
  Library(void* handle, std::string path) : handle_(handle), path_(std::move(path)) {}
  [[nodiscard]] const std::string& path() const { return path_; }
  // The function `name` in the library or in what it depends on; null if there is none.
  template <class Function>
  [[nodiscard]] Function* find(const char* name) const {
    return reinterpret_cast<Function*>(address_of(name));
  }

 private:
  [[nodiscard]] void* address_of(const char* name) const;
  void* handle_ = nullptr;
  std::string path_;
};

// The first of `candidates` (sonames or paths) that opens. The error tells what each one lacked.
[[nodiscard]] Result<Library> open_library(std::span<const std::string> candidates);

}  // namespace tilewright
