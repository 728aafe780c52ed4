// SPDX-License-Identifier: Apache-2.0
// The device's clock on one stream, and graphs of launches for it to time.
#pragma once

#include "device/cuda/context.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <tuple>

namespace tilewright::runner {

// Elapsed time between two points of a stream.
class StreamClock {
 public:
  [[nodiscard]] static Result<StreamClock> create(const cuda::Context& context,
                                                  cuda::Stream stream);
  ~StreamClock();
  StreamClock(StreamClock&& other) noexcept;
  StreamClock& operator=(StreamClock&&) = delete;

  // What is enqueued from here on begins when release() is called: else the device would wait for
  // the host after start(), which short work would be charged for. To be released soon, and after a
  // failure, too: a stream takes only so much that waits.
  [[nodiscard]] Status hold();
  void release();
  [[nodiscard]] Status start();
  [[nodiscard]] Status stop();
  // From start to stop, once the stream was waited for.
  [[nodiscard]] Result<double> seconds() const;

 private:
  StreamClock() = default;
  const cuda::Driver* driver_ = nullptr;
  cuda::Stream stream_ = nullptr;
  cuda::Event start_ = nullptr, stop_ = nullptr;
  std::uint32_t* gate_ = nullptr;  // page-locked: how many holds are released
  std::uint32_t held_ = 0;
};

// Graphs of consecutive calls of one contestant, made once each.
class LaunchGraphs {
 public:
  LaunchGraphs(const cuda::Context& context, cuda::Stream stream)
      : driver_(&context.driver()), stream_(stream) {}
  ~LaunchGraphs();
  LaunchGraphs(const LaunchGraphs&) = delete;
  LaunchGraphs& operator=(const LaunchGraphs&) = delete;

  struct Key {
    int contestant = 0, first_set = 0, launches = 0;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  // The graph of `launches` calls of enqueue(0), enqueue(1), ..., instantiated and uploaded.
  [[nodiscard]] Result<cuda::GraphExec> graph(const Key& key,
                                              const std::function<Status(int)>& enqueue);
  void forget(int contestant);
  void clear();

 private:
  const cuda::Driver* driver_;
  cuda::Stream stream_;
  std::map<Key, cuda::GraphExec> made_;
};

}  // namespace tilewright::runner
