// SPDX-License-Identifier: Apache-2.0
// Device time of a few calls, captured into a graph as the measured bursts are: launching from the
// host one by one would time the host for anything below some microseconds.
#pragma once

#include "device/cuda/context.h"

#include <functional>

namespace tilewright {

class GraphTimer {
 public:
  // Captures `calls` calls of `enqueue(i, stream)`, i counting from 0. The first was already run
  // outside a capture, so that its kernels are loaded.
  [[nodiscard]] static Result<GraphTimer> capture(
      const cuda::Context& context, cuda::Stream stream, int calls,
      const std::function<Status(int, cuda::Stream)>& enqueue);
  ~GraphTimer();
  GraphTimer(GraphTimer&& other) noexcept;
  GraphTimer& operator=(GraphTimer&& other) noexcept;

  // Replays once and waits: seconds per call by the device's clock. `before`: replays that do not
  // count, so that the device is still busy when the host has enqueued the one that does.
  [[nodiscard]] Result<double> time_once(int before = 0) const;

 private:
  GraphTimer() = default;
  const cuda::Driver* driver_ = nullptr;
  cuda::Stream stream_ = nullptr;
  cuda::GraphExec replay_ = nullptr;
  cuda::Event start_ = nullptr, end_ = nullptr;
  int calls_ = 1;
};

// How many calls of `seconds` each one graph holds: about 200 us, at most 64 calls.
[[nodiscard]] int calls_per_graph(double seconds);
// The same of something that does `flop` and moves `bytes`, at a large GPU's speed.
[[nodiscard]] int calls_per_graph(double flop, double bytes);

// Seconds by a steady clock, for budgets.
[[nodiscard]] double steady_seconds();

}  // namespace tilewright
