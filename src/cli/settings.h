// SPDX-License-Identifier: Apache-2.0
// Settings that hold for every subcommand, and where each value comes from:
// built-in < /etc/tilewright/config.toml < $XDG_CONFIG_HOME/tilewright/config.toml <
// ./tilewright.toml < TILEWRIGHT_* < flag. One name per key: --cache-dir, TILEWRIGHT_CACHE_DIR,
// cache.dir.
#pragma once

#include "base/error.h"

#include <CLI/CLI.hpp>

#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

struct SettingInfo {
  std::string_view key;       // in a file: table.key
  std::string_view flag;      // --cache-dir
  std::string_view variable;  // TILEWRIGHT_CACHE_DIR
  std::string_view fallback;  // built-in value
  std::string_view help;
};

// What is used where nobody says otherwise: one of the words that chosen_device() knows.
inline constexpr std::string_view kDefaultDevice = "auto";

inline constexpr std::array<SettingInfo, 11> kSettings = {{
    {"cache.dir", "--cache-dir", "TILEWRIGHT_CACHE_DIR", "",
     "folder of compiled kernels (empty: $XDG_CACHE_HOME/tilewright)"},
    {"database.path", "--db", "TILEWRIGHT_DB", "",
     "the trial database (empty: $XDG_DATA_HOME/tilewright/tuning.db)"},
    {"compile.cxx", "--cxx", "TILEWRIGHT_CXX", "", "host compiler (empty: g++, then c++)"},
    {"compile.cuda", "--cuda-compiler", "TILEWRIGHT_CUDA_COMPILER", "",
     "nvcc to compile for CUDA with (empty: NVRTC, then nvcc)"},
    {"device.use", "--device", "TILEWRIGHT_DEVICE", kDefaultDevice,
     "cpu, cuda, cuda:N, or auto (a CUDA device if one is usable, else the CPU); gen, explain and "
     "wisdom also take the file of a described device, such as devices/h200.json"},
    {"execute.runner", "--runner", "TILEWRIGHT_RUNNER", "",
     "tilewright-runner (empty: beside this program, then PATH)"},
    {"execute.threads", "--threads", "TILEWRIGHT_THREADS", "0", "cores to use (0: all)"},
    {"tune.policy", "--policy", "TILEWRIGHT_POLICY", "evolve", "who proposes programs"},
    {"policy.learner", "--learner", "TILEWRIGHT_LEARNER", "",
     "tilewright-learner, for the policy lm (empty: beside this program, then PATH)"},
    {"policy.weights", "--weights", "TILEWRIGHT_WEIGHTS", "",
     "what the policy lm was trained to, a .safetensors file (empty: the installed one)"},
    {"tune.seed", "--seed", "TILEWRIGHT_SEED", "1", "seed of data, shuffles and proposals"},
}};

class Settings {
 public:
  // Reads files and environment. An unknown key, a wrong type or an unreadable file is an error
  // that names the file, the line and the nearest known key.
  [[nodiscard]] static Result<Settings> load();
  // Reads one file on top of what is known; a file that does not exist changes nothing.
  [[nodiscard]] Status read(const std::filesystem::path& file);

  // Declares every flag on `app`; a flag that is given wins over everything else.
  void add_flags(CLI::App& app);

  [[nodiscard]] const std::string& text(std::string_view key) const;
  [[nodiscard]] Result<std::int64_t> number(std::string_view key) const;
  // "built-in", a file's path, a variable's name, or the flag.
  [[nodiscard]] std::string origin(std::string_view key) const;

 private:
  struct Value {
    std::string text, origin = "built-in", flag_text;
    CLI::Option* flag = nullptr;
  };
  Settings();
  std::vector<Value> values_;  // as kSettings
};

}  // namespace tilewright
