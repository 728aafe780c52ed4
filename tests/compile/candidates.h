// SPDX-License-Identifier: Apache-2.0
// Sources, compilers that misbehave and small questions that the tests of compile/ share.
#pragma once

#include "base/file.h"
#include "base/scratch_folder.h"
#include "compile/compile.h"
#include "compile/folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <mutex>
#include <string>
#include <vector>

namespace tilewright {

inline constexpr const char* kPrelude =
    "#include \"launch/cpu_abi.h\"\n"
    "#include <stddef.h>\n"
    "#include <string.h>\n"
    "#define KERNEL extern \"C\" void tw_kernel(const tw_cpu_gemm_args* a, const tw_cpu_team* t)\n";

inline Source source_of(const std::string& text) {
  Source source;
  source.text = kPrelude + text + "\n";
  source.headers = {
      {"launch/cpu_abi.h", *read_file(TILEWRIGHT_SOURCE_DIR "/src/launch/cpu_abi.h")}};
  return source;
}

// A kernel that writes `number`, so that each number is a candidate of its own.
inline Source numbered(int number) {
  return source_of(fmt::format("KERNEL {{ *(int*)a->c = {}; (void)t; }}", number));
}

inline CompileOptions caching_in(const std::filesystem::path& folder) {
  CompileOptions options;
  options.cache_directory = folder;
  return options;
}

// Collects what a Compiler warns of.
struct Warnings {
  std::mutex mutex;
  std::vector<std::string> lines;
  std::function<void(const std::string&)> sink() {
    return [this](const std::string& line) {
      const std::scoped_lock lock(mutex);
      lines.push_back(line);
    };
  }
};

// An executable script `name` in `folder` that answers `--version` and else runs `body`.
inline std::string script(const std::filesystem::path& folder, const std::string& name,
                          const std::string& body) {
  const auto path = folder / name;
  const auto status =
      write_file_atomically(path, "#!/bin/sh\nif [ \"$1\" = --version ]; then echo '" + name +
                                      " 1.0'; exit; fi\n" + body + "\n");
  EXPECT_TRUE(status) << status.error().message;
  std::filesystem::permissions(path, std::filesystem::perms(0755));
  return path.string();
}

// A compiler that takes milliseconds: it copies an object that the real one made once.
inline const std::string& quick_compiler() {
  struct Quick {
    ScratchFolder folder;
    std::string path;
    Quick() {
      auto real = Compiler::create(caching_in(folder.path() / "real"));
      EXPECT_TRUE(real) << real.error().message;
      const auto made = real->compile(numbered(1));
      EXPECT_TRUE(made.binary) << made.finding.detail;
      std::filesystem::copy_file(made.binary->path, folder.path() / "good.so");
      path = script(folder.path(), "quick",
                    "cp '" + (folder.path() / "good.so").string() + "' kernel.so");
      using std::filesystem::perms;  // for other users, too
      std::filesystem::permissions(folder.path(), perms(0755));
    }
  };
  static const Quick quick;
  return quick.path;
}

inline std::size_t count_in(const std::filesystem::path& folder) {
  return children(folder).size();
}

}  // namespace tilewright
