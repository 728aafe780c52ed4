// SPDX-License-Identifier: Apache-2.0
// Runs a loop over [0, count) on this machine's threads in contiguous ranges.
//
// The checker's work is a few milliseconds of arithmetic many times over, in a process that has no
// team of its own, so plain threads that live for one loop are enough. If the system refuses a
// thread, the ranges that have none run here.
#pragma once

#include <algorithm>
#include <cstdint>
#include <system_error>
#include <thread>
#include <vector>

namespace tilewright {

// Calls body(begin, end) for ranges that cover [0, count), none shorter than `grain` but the last.
template <class Body>
void for_ranges(std::int64_t count, std::int64_t grain, const Body& body) {
  if (count <= 0) return;
  const std::int64_t most = std::max<std::int64_t>(1, count / std::max<std::int64_t>(1, grain));
  const std::int64_t threads =
      std::clamp<std::int64_t>(std::thread::hardware_concurrency(), 1, std::min(most, INT64_C(64)));
  const auto first = [&](std::int64_t t) {
    return count / threads * t + std::min(t, count % threads);
  };
  std::vector<std::jthread> running;
  std::int64_t started = 1;
  try {
    running.reserve(static_cast<std::size_t>(threads));
    for (; started < threads; ++started) {
      running.emplace_back(
          [&body, begin = first(started), end = first(started + 1)] { body(begin, end); });
    }
  } catch (const std::system_error&) {  // no more threads: see above
  }
  body(first(0), first(1));
  if (started < threads) body(first(started), count);
}

}  // namespace tilewright
