// SPDX-License-Identifier: Apache-2.0
// Implementation of spawn.h.
#include "execute/spawn.h"

#include "base/subprocess.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <utility>

extern char** environ;

namespace tilewright {
namespace {

// Our environment with `added` in front: getenv finds the first.
std::vector<std::string> environment_with(std::vector<std::string> added) {
  for (char** entry = environ; *entry != nullptr; ++entry) added.emplace_back(*entry);
  return added;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

}  // namespace

Result<std::filesystem::path> find_runner(const RunnerName& name,
                                          const std::filesystem::path& asked) {
  std::vector<std::filesystem::path> places;
  const char* const variable = std::getenv(name.variable);
  const bool named = !asked.empty() || (variable != nullptr && *variable != '\0');
  if (named) {
    places.push_back(asked.empty() ? std::filesystem::path(variable) : asked);
  } else {
    std::error_code error;
    const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
    if (!error) {
      places.push_back(self.parent_path() / name.program);
      places.push_back(self.parent_path().parent_path() / "bin" / name.program);
    }
    if (auto in_path = find_program(name.program)) places.push_back(*in_path);
  }
  for (const auto& place : places) {
    if (access(place.c_str(), X_OK) == 0) return place;
  }
  if (named) {
    return fail(ErrorCode::environment,
                fmt::format("runner {}: {}", places.front().string(), std::strerror(errno)),
                fmt::format("the option and {} name the {} program", name.variable, name.program));
  }
  return fail(
      ErrorCode::environment,
      fmt::format("{} is not beside this program nor in PATH", name.program),
      fmt::format("build the target {}, or set {} to its path", name.program, name.variable));
}

Result<pid_t> spawn_runner(const std::filesystem::path& program, std::vector<std::string> variables,
                           int socket) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, socket, 3);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(
      &attributes,
      static_cast<short>(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
  posix_spawnattr_setpgroup(&attributes, 0);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  std::vector<std::string> argument_texts = {program.string()};
  std::vector<std::string> variable_texts = environment_with(std::move(variables));
  const std::vector<char*> argv = pointers(argument_texts);
  const std::vector<char*> environment = pointers(variable_texts);
  pid_t pid = -1;
  const int error =
      posix_spawn(&pid, program.c_str(), &actions, &attributes, argv.data(), environment.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    return fail(ErrorCode::environment,
                fmt::format("runner {}: {}", program.string(), std::strerror(error)));
  }
  return pid;
}

std::optional<int> wait_for(pid_t pid, std::chrono::milliseconds limit) {
  constexpr std::chrono::microseconds kStep{500};
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (true) {
    int status = 0;
    const pid_t got = waitpid(pid, &status, WNOHANG);
    if (got == pid) return status;
    if (got < 0 && errno != EINTR) return 0;
    if (std::chrono::steady_clock::now() >= deadline) return std::nullopt;
    usleep(static_cast<useconds_t>(kStep.count()));
  }
}

}  // namespace tilewright
