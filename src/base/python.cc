// SPDX-License-Identifier: Apache-2.0
// See python.h.
#include "base/python.h"

#include "base/subprocess.h"

#include <algorithm>
#include <cstdlib>
#include <system_error>

namespace tilewright {

std::vector<std::string> active_python_prefixes() {
  std::vector<std::string> prefixes;
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    const char* prefix = std::getenv(name);
    if (prefix != nullptr && *prefix != '\0') prefixes.emplace_back(prefix);
  }
  return prefixes;
}

const std::string& python3_prefix() {
  static const std::string prefix = []() -> std::string {
    if (!find_program("python3")) return {};
    Command ask;
    ask.argv = {"python3", "-I", "-c", "import sys; print(sys.prefix)"};
    ask.limit = std::chrono::seconds(5);
    const auto answer = run(ask);
    if (!answer || answer->exit_code != 0) return {};
    std::string line = answer->output.substr(0, answer->output.find('\n'));
    return line.starts_with('/') ? line : std::string{};
  }();
  return prefix;
}

std::vector<std::filesystem::path> package_folders(const std::string& prefix) {
  namespace fs = std::filesystem;
  std::vector<fs::path> found;
  std::error_code error;
  for (const char* lib : {"lib", "lib64"}) {
    const fs::path folder = fs::path(prefix) / lib;
    if (fs::is_symlink(folder, error)) continue;  // the same again
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
      if (!at->path().filename().string().starts_with("python3")) continue;
      for (const char* name : {"site-packages", "dist-packages"}) {
        std::error_code ignored;
        if (fs::is_directory(at->path() / name, ignored)) found.push_back(at->path() / name);
      }
    }
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace tilewright
