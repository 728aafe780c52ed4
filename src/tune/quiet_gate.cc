// SPDX-License-Identifier: Apache-2.0
// See quiet_gate.h. A supervisor polls about every 20 ms and stops its child right after a poll
// that answered "pause"; the second such poll therefore proves that the child is stopped.
#include "tune/quiet_gate.h"

#include <chrono>

namespace tilewright {
namespace {
constexpr std::chrono::milliseconds kPatience{500};
constexpr int kPollsUntilStopped = 2;
}  // namespace

QuietGate::Worker::Worker(QuietGate& gate) : gate_(gate) {
  std::unique_lock lock(gate_.mutex_);
  gate_.changed_.wait(lock, [&] { return !gate_.closed_ || gate_.abandoned_; });
  ++gate_.working_;
}

QuietGate::Worker::~Worker() {
  const std::scoped_lock lock(gate_.mutex_);
  --gate_.working_;
  if (stopped_polls_ >= kPollsUntilStopped) --gate_.stopped_;
  gate_.changed_.notify_all();
}

Supervision QuietGate::Worker::supervision(std::function<bool()> cancel) {
  Supervision supervision;
  supervision.cancel = std::move(cancel);
  supervision.pause = [this] {
    const std::scoped_lock lock(gate_.mutex_);
    const bool stopped_before = stopped_polls_ >= kPollsUntilStopped;
    stopped_polls_ = gate_.closed_ && !gate_.abandoned_ ? stopped_polls_ + 1 : 0;
    const bool stopped_now = stopped_polls_ >= kPollsUntilStopped;
    if (stopped_now != stopped_before) {
      gate_.stopped_ += stopped_now ? 1 : -1;
      gate_.changed_.notify_all();
    }
    return stopped_polls_ > 0;
  };
  return supervision;
}

QuietGate::Quiet::Quiet(QuietGate& gate) : gate_(gate) {
  std::unique_lock lock(gate_.mutex_);
  gate_.closed_ = true;
  gate_.changed_.wait_for(lock, kPatience, [&] { return gate_.stopped_ >= gate_.working_; });
}

QuietGate::Quiet::~Quiet() {
  const std::scoped_lock lock(gate_.mutex_);
  gate_.closed_ = false;
  gate_.changed_.notify_all();
}

void QuietGate::abandon() {
  const std::scoped_lock lock(mutex_);
  abandoned_ = true;
  changed_.notify_all();
}

}  // namespace tilewright
