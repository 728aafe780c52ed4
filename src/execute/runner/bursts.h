// SPDX-License-Identifier: Apache-2.0
// The clock: bursts of calls, with the pauses, gaps and warm-up calls that session.h describes.
#pragma once

#include "execute/protocol.h"
#include "execute/runner/contest.h"

#include <time.h>

#include <cstdint>

namespace tilewright::runner {

// Nanoseconds of the monotonic clock, read without a system call. The parent holds the sum against
// a clock of its own (TimingReply), so a candidate gains nothing by tampering with this one.
[[nodiscard]] inline std::int64_t now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// Runs the plan and fills the reply's samples and uncounted time.
[[nodiscard]] Done run_bursts(Contest& contest, const std::vector<Burst>& plan, Reply& reply);

}  // namespace tilewright::runner
