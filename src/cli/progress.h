// SPDX-License-Identifier: Apache-2.0
// Progress of a tune on stderr: one line that is rewritten on a terminal, plain lines otherwise.
#pragma once

#include "tune/tune.h"

#include <chrono>
#include <mutex>
#include <string>
#include <vector>

namespace tilewright {

class ProgressLine {
 public:
  ProgressLine(bool quiet, bool verbose);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const Progress& progress);
  void remark(const std::string& line);  // a line of its own, once per text
  void clear();                          // leaves no half-drawn line behind

 private:
  void wipe();
  std::mutex mutex_;  // compile workers warn from threads of their own
  bool quiet_, verbose_, terminal_;
  bool drawn_ = false;
  std::vector<std::string> remarks_;
  int last_problem_ = -1;
  std::chrono::steady_clock::time_point last_{};
};

}  // namespace tilewright
