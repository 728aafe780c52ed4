// SPDX-License-Identifier: Apache-2.0
// Measuring is never disturbed by compiling: whoever times something closes the gate, and every
// compiler process is stopped (SIGSTOP) until it opens again. On two cores there is no spare core
// to compile on while a team of two is being timed, so compiling overlaps everything but timing.
#pragma once

#include "base/subprocess.h"

#include <condition_variable>
#include <functional>
#include <mutex>
#include <vector>

namespace tilewright {

class QuietGate {
 public:
  // A compile worker holds one of these while it works on a job. The constructor waits while the
  // gate is closed; supervision() makes the job's processes stop when it closes.
  class Worker {
   public:
    explicit Worker(QuietGate& gate);
    ~Worker();
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;
    [[nodiscard]] Supervision supervision(std::function<bool()> cancel);

   private:
    QuietGate& gate_;
    int stopped_polls_ = 0;  // how often the supervisor was told to keep its child stopped
  };

  // Closes the gate; returns once every working worker has reported its child stopped, or after
  // `patience` (a worker between two child processes is nearly idle). The destructor opens it.
  class Quiet {
   public:
    explicit Quiet(QuietGate& gate);
    ~Quiet();
    Quiet(const Quiet&) = delete;
    Quiet& operator=(const Quiet&) = delete;

   private:
    QuietGate& gate_;
  };

  // Lets waiting workers go, closed or not: for shutting down.
  void abandon();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool closed_ = false, abandoned_ = false;
  int working_ = 0, stopped_ = 0;
};

}  // namespace tilewright
