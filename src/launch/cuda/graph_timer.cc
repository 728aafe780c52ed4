// SPDX-License-Identifier: Apache-2.0
// See graph_timer.h.
#include "launch/cuda/graph_timer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

namespace tilewright {
namespace {

constexpr int kMostCalls = 64;
constexpr double kGraphSeconds = 200e-6;
// A fast GPU: a slower one gets longer graphs, which does no harm.
constexpr double kFlopPerSecond = 600e12, kBytesPerSecond = 3e12, kLeastSeconds = 2e-6;

struct GraphOwner {
  const cuda::Driver& driver;
  cuda::Graph graph = nullptr;
  explicit GraphOwner(const cuda::Driver& d) : driver(d) {}
  ~GraphOwner() {
    if (graph != nullptr) driver.GraphDestroy(graph);
  }
  GraphOwner(const GraphOwner&) = delete;
  GraphOwner& operator=(const GraphOwner&) = delete;
};

}  // namespace

Result<GraphTimer> GraphTimer::capture(const cuda::Context& context, cuda::Stream stream, int calls,
                                       const std::function<Status(int, cuda::Stream)>& enqueue) {
  const cuda::Driver& d = context.driver();
  GraphTimer timer;
  timer.driver_ = &d;
  timer.stream_ = stream;
  timer.calls_ = calls;
  GraphOwner owner(d);
  if (Status s =
          d.check(d.StreamBeginCapture(stream, cuda::kRelaxedCapture), "beginning a capture");
      !s) {
    return tl::unexpected(s.error());
  }
  Status enqueued;
  for (int i = 0; i < calls && enqueued; ++i) enqueued = enqueue(i, stream);
  const cuda::Code ended = d.StreamEndCapture(stream, &owner.graph);  // in any case
  if (!enqueued) return tl::unexpected(enqueued.error());
  if (Status s = d.check(ended, "ending a capture"); !s) return tl::unexpected(s.error());
  if (Status s = d.check(d.GraphInstantiateWithFlags(&timer.replay_, owner.graph, 0),
                         "instantiating a graph");
      !s) {
    return tl::unexpected(s.error());
  }
  // Else the first replay would upload it, between the events.
  if (Status s = d.check(d.GraphUpload(timer.replay_, stream), "uploading a graph"); !s) {
    return tl::unexpected(s.error());
  }
  for (cuda::Event* event : {&timer.start_, &timer.end_}) {
    if (Status s = d.check(d.EventCreate(event, 0), "making an event"); !s) {
      return tl::unexpected(s.error());
    }
  }
  return timer;
}

GraphTimer::~GraphTimer() {
  if (start_ != nullptr) driver_->EventDestroy(start_);
  if (end_ != nullptr) driver_->EventDestroy(end_);
  if (replay_ != nullptr) driver_->GraphExecDestroy(replay_);
}

GraphTimer::GraphTimer(GraphTimer&& other) noexcept
    : driver_(other.driver_),
      stream_(other.stream_),
      replay_(std::exchange(other.replay_, nullptr)),
      start_(std::exchange(other.start_, nullptr)),
      end_(std::exchange(other.end_, nullptr)),
      calls_(other.calls_) {}

GraphTimer& GraphTimer::operator=(GraphTimer&& other) noexcept {
  std::swap(driver_, other.driver_);
  std::swap(stream_, other.stream_);
  std::swap(replay_, other.replay_);
  std::swap(start_, other.start_);
  std::swap(end_, other.end_);
  std::swap(calls_, other.calls_);
  return *this;
}

Result<double> GraphTimer::time_once(int before) const {
  const cuda::Driver& d = *driver_;
  for (int i = 0; i < before; ++i) {
    if (Status s = d.check(d.GraphLaunch(replay_, stream_), "launching a graph"); !s) {
      return tl::unexpected(s.error());
    }
  }
  for (const cuda::Code code : {d.EventRecord(start_, stream_), d.GraphLaunch(replay_, stream_),
                                d.EventRecord(end_, stream_), d.EventSynchronize(end_)}) {
    if (Status s = d.check(code, "timing a graph"); !s) return tl::unexpected(s.error());
  }
  float milliseconds = 0;
  if (Status s = d.check(d.EventElapsedTime(&milliseconds, start_, end_), "reading a time"); !s) {
    return tl::unexpected(s.error());
  }
  return static_cast<double>(milliseconds) / 1e3 / calls_;
}

int calls_per_graph(double seconds) {
  return static_cast<int>(std::clamp(std::ceil(kGraphSeconds / seconds), 1.0, double{kMostCalls}));
}

int calls_per_graph(double flop, double bytes) {
  return calls_per_graph(std::max({flop / kFlopPerSecond, bytes / kBytesPerSecond, kLeastSeconds}));
}

double steady_seconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

}  // namespace tilewright
