// SPDX-License-Identifier: Apache-2.0
// The instructions of a cubin, by nvdisasm: which there are, and how often.
#pragma once

#include "base/subprocess.h"
#include "base/text.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace tilewright {

// In PATH, the active Python environment (package nvidia-cuda-nvdisasm), or a toolkit.
inline std::optional<std::string> find_nvdisasm() {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (const auto found = find_program("nvdisasm")) return found->string();
  if (const char* environment = std::getenv("VIRTUAL_ENV")) {
    fs::recursive_directory_iterator it(fs::path(environment) / "lib", ignored), end;
    for (; !ignored && it != end; it.increment(ignored)) {
      if (it.depth() > 5) it.disable_recursion_pending();
      const fs::path& path = it->path();
      if (path.filename() == "nvdisasm" && path.parent_path().filename() == "bin") {
        return path.string();
      }
    }
  }
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const char* home = std::getenv(name)) {
      const fs::path path = fs::path(home) / "bin/nvdisasm";
      if (fs::exists(path, ignored)) return path.string();
    }
  }
  if (fs::exists("/usr/local/cuda/bin/nvdisasm", ignored)) return "/usr/local/cuda/bin/nvdisasm";
  return std::nullopt;
}

class MachineCode {
 public:
  // Lines look like `        /*0a10*/              @!P0 LDGSTS.E.BYPASS.128 [R4], ... ;`.
  explicit MachineCode(std::string_view listing) {
    for (const std::string_view line : split(listing, '\n')) {
      const std::string_view text = trim(line);
      if (!text.starts_with("/*") || text.find("*/") == std::string_view::npos) continue;
      auto rest = words(text.substr(text.find("*/") + 2));
      std::size_t at = 0;
      while (at < rest.size() && rest[at].starts_with('@')) ++at;
      if (at < rest.size() && std::isupper(static_cast<unsigned char>(rest[at].front())) != 0) {
        ++instructions_[std::string(rest[at])];
      }
    }
  }
  // Of all instructions that begin so, and whose name holds `also`.
  [[nodiscard]] int count(std::string_view begin, std::string_view also = "") const {
    int total = 0;
    for (const auto& [name, times] : instructions_) {
      const bool whole =
          name.size() == begin.size() || (name.size() > begin.size() && name[begin.size()] == '.');
      if (name.starts_with(begin) && whole && name.find(also) != std::string::npos) total += times;
    }
    return total;
  }
  [[nodiscard]] bool empty() const { return instructions_.empty(); }

 private:
  std::map<std::string, int> instructions_;
};

inline std::optional<MachineCode> disassemble(const std::string& nvdisasm,
                                              const std::filesystem::path& cubin) {
  Command command;
  command.argv = {nvdisasm, cubin.string()};
  command.output_cap = std::size_t{64} << 20;
  const auto done = run(command);
  if (!done || done->exit_code != 0 || done->signal != 0) return std::nullopt;
  return MachineCode(done->output);
}

}  // namespace tilewright
