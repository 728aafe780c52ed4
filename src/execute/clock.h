// SPDX-License-Identifier: Apache-2.0
// What every runner's clock does alike: reading the time, pausing between calls, and what a burst
// may ask for. Private to this folder.
#pragma once

#include "base/rng.h"
#include "execute/session.h"

#include <time.h>

#include <cstdint>
#include <string>

namespace tilewright {

// Nanoseconds of the monotonic clock, read without a system call. The parent holds the sum against
// a clock of its own (TimingReply), so a candidate gains nothing by tampering with this one.
[[nodiscard]] inline std::int64_t now_nanoseconds() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// Involuntary context switches of this process so far.
[[nodiscard]] std::int64_t involuntary_switches();

// Sleeps for most of the time and spins through the rest, which a timer would overshoot.
void idle(double seconds);

// The exponential gaps of a burst (none if its mean is 0), a function of its seed and its index in
// the plan.
class Gaps {
 public:
  Gaps(const Burst& burst, int index)
      : random_(burst.gap_seed, static_cast<std::uint64_t>(index)),
        mean_seconds_(burst.gap_mean_us * 1e-6) {}
  void wait();

 private:
  Rng random_;
  double mean_seconds_;
};

// What of a burst is out of range for so many operand sets, or empty.
[[nodiscard]] std::string what_is_off(const Burst& burst, int sets);

}  // namespace tilewright
