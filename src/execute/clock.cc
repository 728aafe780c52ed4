// SPDX-License-Identifier: Apache-2.0
// Implementation of clock.h.
#include "execute/clock.h"

#include <sys/resource.h>

#include <fmt/format.h>

#include <cmath>

namespace tilewright {
namespace {

constexpr int kMaxCalls = 10'000'000;
constexpr double kMaxIdleSeconds = 60;

}  // namespace

std::int64_t involuntary_switches() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

void idle(double seconds) {
  constexpr std::int64_t kOvershoot = 60'000;  // ns, about what waking from a timer costs
  const std::int64_t end = now_nanoseconds() + static_cast<std::int64_t>(seconds * 1e9);
  if (const std::int64_t sleep = end - now_nanoseconds() - kOvershoot; sleep > 0) {
    const timespec span{static_cast<time_t>(sleep / 1'000'000'000),
                        static_cast<long>(sleep % 1'000'000'000)};
    nanosleep(&span, nullptr);
  }
  while (now_nanoseconds() < end) {
  }
}

void Gaps::wait() {
  if (mean_seconds_ > 0) idle(-std::log(1 - random_.uniform()) * mean_seconds_);
}

std::string what_is_off(const Burst& burst, int sets) {
  if (burst.calls < 1 || burst.calls > kMaxCalls) return fmt::format("calls = {}", burst.calls);
  if (burst.first_set < 0 || burst.first_set >= sets) {
    return fmt::format("first_set = {}: 0 to {}", burst.first_set, sets - 1);
  }
  const auto idle_ok = [](double seconds) { return seconds >= 0 && seconds <= kMaxIdleSeconds; };
  if (!idle_ok(burst.gap_mean_us * 1e-6)) return fmt::format("gap_mean_us = {}", burst.gap_mean_us);
  if (!idle_ok(burst.settle_seconds)) {
    return fmt::format("settle_seconds = {}", burst.settle_seconds);
  }
  return {};
}

}  // namespace tilewright
