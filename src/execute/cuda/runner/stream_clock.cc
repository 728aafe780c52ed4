// SPDX-License-Identifier: Apache-2.0
// Implementation of stream_clock.h.
#include "execute/cuda/runner/stream_clock.h"

#include <fmt/format.h>

#include <atomic>
#include <new>
#include <utility>

namespace tilewright::runner {

Result<StreamClock> StreamClock::create(const cuda::Context& context, cuda::Stream stream) {
  const cuda::Driver& d = context.driver();
  StreamClock clock;
  clock.driver_ = &d;
  clock.stream_ = stream;
  void* gate = nullptr;
  for (const auto& [code, what] :
       {std::pair{d.EventCreate(&clock.start_, 0), "making an event"},
        std::pair{d.EventCreate(&clock.stop_, 0), "making an event"},
        std::pair{d.MemAllocHost(&gate, sizeof *clock.gate_), "page-locking memory"}}) {
    if (Status s = d.check(code, what); !s) return tl::unexpected(s.error());
  }
  clock.gate_ = new (gate) std::uint32_t(0);
  return clock;
}

StreamClock::~StreamClock() {
  if (driver_ == nullptr) return;
  if (start_ != nullptr) driver_->EventDestroy(start_);
  if (stop_ != nullptr) driver_->EventDestroy(stop_);
  if (gate_ != nullptr) driver_->MemFreeHost(gate_);
}

StreamClock::StreamClock(StreamClock&& other) noexcept
    : driver_(std::exchange(other.driver_, nullptr)),
      stream_(other.stream_),
      start_(other.start_),
      stop_(other.stop_),
      gate_(other.gate_),
      held_(other.held_) {}

Status StreamClock::hold() {
  // Under unified addressing the device knows page-locked memory by the host's address.
  return driver_->check(
      driver_->StreamWaitValue32(stream_, reinterpret_cast<cuda::Pointer>(gate_), ++held_, 0),
      "having a stream wait");
}
void StreamClock::release() {
  std::atomic_ref(*gate_).store(held_, std::memory_order_release);
}
Status StreamClock::start() {
  return driver_->check(driver_->EventRecord(start_, stream_), "recording an event");
}
Status StreamClock::stop() {
  return driver_->check(driver_->EventRecord(stop_, stream_), "recording an event");
}
Result<double> StreamClock::seconds() const {
  float milliseconds = 0;
  if (Status s = driver_->check(driver_->EventElapsedTime(&milliseconds, start_, stop_),
                                "reading the device's clock");
      !s) {
    return tl::unexpected(s.error());
  }
  return static_cast<double>(milliseconds) * 1e-3;
}

LaunchGraphs::~LaunchGraphs() {
  clear();
}

void LaunchGraphs::clear() {
  for (const auto& [key, graph] : made_) driver_->GraphExecDestroy(graph);
  made_.clear();
}

void LaunchGraphs::forget(int contestant) {
  std::erase_if(made_, [&](const auto& entry) {
    if (entry.first.contestant != contestant) return false;
    driver_->GraphExecDestroy(entry.second);
    return true;
  });
}

Result<cuda::GraphExec> LaunchGraphs::graph(const Key& key,
                                            const std::function<Status(int)>& enqueue) {
  if (const auto found = made_.find(key); found != made_.end()) return found->second;
  const cuda::Driver& d = *driver_;
  if (Status s = d.check(d.StreamBeginCapture(stream_, cuda::kRelaxedCapture), "capturing a graph");
      !s) {
    return tl::unexpected(s.error());
  }
  Status enqueued;
  for (int i = 0; enqueued && i < key.launches; ++i) enqueued = enqueue(i);
  // Also after a failure, which would leave the stream in capture.
  cuda::Graph graph = nullptr;
  const cuda::Code ended = d.StreamEndCapture(stream_, &graph);
  cuda::GraphExec made = nullptr;
  if (enqueued) enqueued = d.check(ended, "capturing a graph");
  if (enqueued) {
    enqueued = d.check(d.GraphInstantiateWithFlags(&made, graph, 0),
                       fmt::format("making a graph of {} launches", key.launches));
  }
  if (graph != nullptr) d.GraphDestroy(graph);
  if (enqueued) enqueued = d.check(d.GraphUpload(made, stream_), "uploading a graph");
  if (!enqueued) {
    if (made != nullptr) d.GraphExecDestroy(made);
    return tl::unexpected(enqueued.error());
  }
  made_[key] = made;
  return made;
}

}  // namespace tilewright::runner
