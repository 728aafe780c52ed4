// SPDX-License-Identifier: Apache-2.0
// The host compiler: where it is, which one it is, and what it is told.
#pragma once

#include "base/error.h"
#include "generate/generate.h"

#include <filesystem>
#include <string>
#include <vector>

namespace tilewright {

struct Toolchain {
  std::vector<std::string> program;      // usually one word; `ccache g++` is two
  std::string version;                   // first line of `--version`
  std::vector<std::string> always;       // arguments that this program needs besides ours
  std::vector<std::string> environment;  // "KEY=value" likewise
};

// Asks `program` for its version: the first line that holds `mark` (all do, if that is empty).
// `origin` says in an error where the name came from, `hint` what to do.
[[nodiscard]] Result<Toolchain> probe(Toolchain toolchain, const std::string& origin,
                                      const std::string& hint, std::string_view mark = {});

// The compiler named `requested`, else the one that TILEWRIGHT_CXX names, else g++ or c++. A name
// that was given and does not work is an error: another compiler would not be what was asked for.
[[nodiscard]] Result<Toolchain> find_toolchain(const std::string& requested);

// What follows the program: kernel.cc in the current folder becomes kernel.so. `strict` links
// nothing but libgcc, so that whatever the source does not bring itself shows as an import.
[[nodiscard]] std::vector<std::string> arguments(const Source& source, bool strict);
// Settings under which equal arguments give equal bytes.
[[nodiscard]] std::vector<std::string> environment(const std::filesystem::path& temporary);
// The linker's list of what a kernel exports: the function that the launch names, nothing else.
[[nodiscard]] std::string export_list(const Launch& launch);

}  // namespace tilewright
