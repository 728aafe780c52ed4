// SPDX-License-Identifier: Apache-2.0
// The program started in the background, to be killed or interrupted.
#pragma once

#include "cli/program_run.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

namespace tilewright {

// Starts the program in a process group of its own, output to a file.
inline pid_t start(const Place& place, const std::vector<std::string>& arguments) {
  const Command command = command_in(place, arguments);
  std::vector<char*> argv;
  for (const std::string& a : command.argv) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  const std::string log = place.file("log");
  const pid_t pid = fork();
  if (pid == 0) {
    setpgid(0, 0);
    for (const std::string& pair : command.environment) {
      const std::size_t equals = pair.find('=');
      setenv(pair.substr(0, equals).c_str(), pair.substr(equals + 1).c_str(), 1);
    }
    const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    dup2(out, 1);
    dup2(out, 2);
    if (chdir(place.file("").c_str()) != 0) _exit(126);
    execv(argv[0], argv.data());
    _exit(127);
  }
  return pid;
}

inline bool wait_for(pid_t pid, int& status, std::chrono::milliseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (std::chrono::steady_clock::now() < deadline) {
    if (waitpid(pid, &status, WNOHANG) == pid) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

}  // namespace tilewright
