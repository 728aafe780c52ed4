// SPDX-License-Identifier: Apache-2.0
// A few pinned threads that convert operands, or compute plain loops; the caller is one of them.
//
// Helpers of a library must not spin: between conversions the same cores run the library's own
// threads, and a spinning helper would slow the very baseline it serves. Waking one costs some
// microseconds, so callers keep small conversions on their own thread. A baseline that is nothing
// but this team spins between the calls of a burst, as a candidate's team does.
#pragma once

#include "base/signal.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace tilewright {

class ConversionTeam {
 public:
  enum class Waiting { asleep, spinning };
  // The caller is thread 0; workers 1 ... threads-1 are pinned to cpus[1], cpus[2], ...
  ConversionTeam(const std::vector<int>& cpus, int threads, Waiting waiting = Waiting::asleep);
  ~ConversionTeam();
  ConversionTeam(const ConversionTeam&) = delete;
  ConversionTeam& operator=(const ConversionTeam&) = delete;

  [[nodiscard]] int threads() const { return static_cast<int>(workers_.size()) + 1; }
  // Calls work(part, parts) on every thread and returns when all have. `work` must not throw.
  void run(const std::function<void(int part, int parts)>& work);
  // The same for a conversion of so many elements; few are left to the caller alone.
  void share(std::int64_t elements, const std::function<void(int part, int parts)>& work);

 private:
  void serve(int part);

  const std::function<void(int, int)>* work_ = nullptr;
  Signal round_;                        // a new value starts a round
  Signal done_;                         // equals round_ when the round is over
  std::atomic<std::uint32_t> busy_{0};  // workers still in it
  std::atomic<bool> closing_{false};
  int parts_ = 1;
  bool spin_;
  std::vector<std::thread> workers_;
};

}  // namespace tilewright
