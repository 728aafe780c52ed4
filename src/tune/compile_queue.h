// SPDX-License-Identifier: Apache-2.0
// Compiles ahead: a few worker threads turn programs into binaries while the loop proves and
// records; results come back in the order of completion.
#pragma once

#include "compile/compile.h"
#include "device/device.h"
#include "problem/problem.h"
#include "program/program.h"
#include "tune/quiet_gate.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace tilewright {

struct Built {
  Program program;
  CompileResult result;
};

class CompileQueue {
 public:
  CompileQueue(Compiler& compiler, QuietGate& gate, Problem problem, Device device, int workers);
  // Cancels what is running and joins.
  ~CompileQueue();

  void push(Program program);
  // The next finished job; waits at most `patience`. Nothing if none finished in time.
  [[nodiscard]] std::optional<Built> pop(std::chrono::milliseconds patience);
  // Jobs pushed and not yet popped.
  [[nodiscard]] std::size_t in_flight() const;

 private:
  void work();

  Compiler& compiler_;
  QuietGate& gate_;
  const Problem problem_;
  const Device device_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Program> waiting_;
  std::deque<Built> done_;
  std::size_t in_flight_ = 0;
  std::atomic<bool> stop_ = false;
  std::vector<std::jthread> workers_;
};

}  // namespace tilewright
