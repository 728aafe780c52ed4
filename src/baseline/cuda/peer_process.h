// SPDX-License-Identifier: Apache-2.0
// A child process that is talked to, one line at a time, with a limit on every answer. It has a
// process group of its own, and ends when its stdin does or with this object.
#pragma once

#include "base/error.h"

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace tilewright {

class PeerProcess {
 public:
  // argv[0] is looked up in PATH unless it holds a slash.
  [[nodiscard]] static Result<PeerProcess> start(const std::vector<std::string>& argv);
  ~PeerProcess();
  PeerProcess(PeerProcess&& other) noexcept;
  PeerProcess& operator=(PeerProcess&& other) noexcept;

  // The next line of its stdout. At the limit, or if it closed its end, the process group is killed
  // and the Error quotes the last line of its stderr.
  [[nodiscard]] Result<std::string> receive(std::chrono::milliseconds limit);
  [[nodiscard]] Status send(std::string_view line);

 private:
  PeerProcess() = default;
  void stop();
  [[nodiscard]] Error ended(std::string_view what);
  [[nodiscard]] std::string last_complaint() const;

  pid_t pid_ = -1;
  int socket_ = -1;  // its stdin and stdout
  int stderr_ = -1;  // a file in memory
  std::string pending_;
};

}  // namespace tilewright
