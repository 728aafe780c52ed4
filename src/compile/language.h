// SPDX-License-Identifier: Apache-2.0
// What differs between compiling C++ for a CPU and CUDA for a GPU, as one row of a table.
#pragma once

#include "compile/compile.h"
#include "compile/entry.h"
#include "compile/inspect.h"
#include "compile/toolchain.h"

#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

struct Language {
  std::string_view name;  // of Source::language
  EntryKind entry;
  // Whether the compiler's version is part of the key. A shared object is made where it runs. A
  // cubin may be made elsewhere, by a compiler that the target lacks; it is complete in itself, and
  // it is proven before it counts, so its key is of its text alone.
  bool version_in_key = true;
  Result<Toolchain> (*find)(const CompileOptions&) = nullptr;
  std::vector<std::string> (*arguments)(const Source&, const Toolchain&, bool strict) = nullptr;
  Inspection (*inspect)(std::string_view object, std::string_view symbol, bool strict) = nullptr;
};

// The row of `name`, or null.
[[nodiscard]] const Language* find_language(std::string_view name);

}  // namespace tilewright
