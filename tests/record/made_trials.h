// SPDX-License-Identifier: Apache-2.0
// Invented devices and trials, a scratch directory, and work done in child processes, for the tests
// of this folder.
#pragma once

#include "base/file.h"
#include "record/database.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace tilewright {

inline Device made_device() {
  Device device;
  device.name = "Invented CPU 9000";
  device.silicon = "intel-6-143-8";
  device.isa = {"avx2", "avx512f", "f16c", "fma"};
  device.cores = 2;
  device.cpus = {0, 1};
  return device;
}

inline Trial made_trial(int number, double time_us = 10, const std::string& stage = "screen") {
  Trial trial;
  trial.problem = "gemm 64x64x64 f16 acc=f32 nn";
  trial.program = fmt::format("cpu isa=avx2 kc={}", number);
  trial.device = made_device().fingerprint();
  trial.outcome = Outcome::ok;
  trial.time_us = time_us;
  trial.stage = stage;
  trial.run = std::string("run-1");
  trial.unix_ms = 1'795'000'000'000 + number;
  trial.baselines["onednn"].time_us = 12;
  return trial;
}

class ScratchDirectory {
 public:
  ScratchDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "tilewright-XXXXXX").string();
    if (::mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~ScratchDirectory() {
    std::error_code error;
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all, error);
    std::filesystem::remove_all(path_, error);
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  [[nodiscard]] std::filesystem::path operator/(const std::string& name) const {
    return path_ / name;
  }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Runs `body` in a child of this process; its return value is the exit status.
template <class Body>
[[nodiscard]] pid_t start_child(Body&& body) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(body());
  return pid;
}

// The exit status, or 1000 + the signal that ended it.
inline int wait_for(pid_t pid) {
  int status = 0;
  if (::waitpid(pid, &status, 0) != pid) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

inline Database open_or_die(const std::filesystem::path& path, Database::Access access) {
  auto database = Database::open(path, access);
  if (!database) {
    ADD_FAILURE() << database.error().message;
    std::abort();
  }
  return std::move(*database);
}

inline std::vector<Trial> trials_of(const Database& database, const TrialQuery& query = {}) {
  auto trials = database.select(query);
  if (!trials) ADD_FAILURE() << trials.error().message;
  return trials ? std::move(*trials) : std::vector<Trial>();
}

inline std::string bytes_of(const std::filesystem::path& path) {
  return read_file(path).value_or("(unreadable)");
}

}  // namespace tilewright
