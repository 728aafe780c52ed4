// SPDX-License-Identifier: Apache-2.0
// A number that one thread changes and others wait for: they spin for a moment, since the next
// change often follows at once, and then sleep in the kernel (a futex, so Linux).
//
// It pairs the value with a count of sleepers; both sides use sequentially consistent operations,
// so that either the waker sees the sleeper or the sleeper sees the new value (the futex call
// compares once more).
#pragma once

#include <atomic>
#include <cstdint>

namespace tilewright {

class alignas(64) Signal {
 public:
  [[nodiscard]] std::uint32_t load() const { return value_.load(std::memory_order_acquire); }
  // Changes the value and wakes whoever sleeps on it.
  void set(std::uint32_t value);
  // Returns once the value differs from `old`. Without `spin` it sleeps almost at once: whoever is
  // waited for may need this processor.
  void wait_while(std::uint32_t old, bool spin);

 private:
  std::atomic<std::uint32_t> value_{0};
  std::atomic<std::uint32_t> sleepers_{0};
};

// Where the threads of a team wait for each other, as often as they like.
class Barrier {
 public:
  // Returns once `threads` threads have called it; `spin` as above.
  void wait(int threads, bool spin);

 private:
  alignas(64) std::atomic<std::uint32_t> arrived_{0};
  Signal turn_;  // changes when the last one arrives
};

}  // namespace tilewright
