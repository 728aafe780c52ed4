// SPDX-License-Identifier: Apache-2.0
// A few pinned threads that convert operands, asleep when idle.
//
// They must not spin: between conversions the same cores run the library's own threads, and a
// spinning helper would slow the very baseline it serves. Waking one costs some microseconds, so
// callers keep small conversions on their own thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace tilewright {

class ConversionTeam {
 public:
  // The caller is thread 0; workers 1 ... threads-1 are pinned to cpus[1], cpus[2], ...
  ConversionTeam(const std::vector<int>& cpus, int threads);
  ~ConversionTeam();
  ConversionTeam(const ConversionTeam&) = delete;
  ConversionTeam& operator=(const ConversionTeam&) = delete;

  [[nodiscard]] int threads() const { return static_cast<int>(workers_.size()) + 1; }
  // Calls work(part, parts) on every thread and returns when all have. `work` must not throw.
  void run(const std::function<void(int part, int parts)>& work);

 private:
  void serve(int part);

  const std::function<void(int, int)>* work_ = nullptr;
  std::atomic<std::uint32_t> round_{0};  // a new value starts a round
  std::atomic<std::uint32_t> busy_{0};   // workers still in it
  std::atomic<bool> closing_{false};
  int parts_ = 1;
  std::vector<std::thread> workers_;
};

}  // namespace tilewright
