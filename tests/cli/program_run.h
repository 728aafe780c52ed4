// SPDX-License-Identifier: Apache-2.0
// Runs the real `tilewright` of this build in a place of its own.
#pragma once

#include "base/subprocess.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

namespace tilewright {

inline const char* program_path() {
  return TILEWRIGHT_BINARY_DIR "/bin/tilewright";
}

// A folder that is gone when the test ends; every path of a run lies in it.
class Place {
 public:
  Place() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "tilewright-cli-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~Place() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }
  [[nodiscard]] std::vector<std::string> environment() const {
    return {"HOME=" + path_.string(),
            "XDG_CACHE_HOME=" + file("cache"),
            "XDG_DATA_HOME=" + file("data"),
            "XDG_STATE_HOME=" + file("state"),
            "XDG_CONFIG_HOME=" + file("config"),
            "TILEWRIGHT_DB=" + file("tuning.db"),
            "TILEWRIGHT_DEVICE=cpu"};  // on a machine with a GPU as well
  }

 private:
  std::filesystem::path path_;
};

inline Command command_in(const Place& place, std::vector<std::string> arguments) {
  Command command;
  command.argv = {program_path()};
  for (std::string& argument : arguments) command.argv.push_back(std::move(argument));
  command.directory = place.file("");
  command.environment = place.environment();
  command.limit = std::chrono::minutes(3);
  return command;
}

inline Completion run_in(const Place& place, std::vector<std::string> arguments) {
  const auto completion = run(command_in(place, std::move(arguments)));
  EXPECT_TRUE(completion.has_value()) << (completion ? "" : completion.error().message);
  return completion ? *completion : Completion{};
}

}  // namespace tilewright
