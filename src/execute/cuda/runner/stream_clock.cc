// SPDX-License-Identifier: Apache-2.0
// Implementation of stream_clock.h.
#include "execute/cuda/runner/stream_clock.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

namespace tilewright::runner {
namespace {

// Copied from the host it takes some 40 us (PCIe 4 and 5), about twice what enqueueing a call, an
// event and a graph does; and it displaces little of a level-2 cache.
constexpr std::size_t kDelayBytes = std::size_t{2} << 20;

}  // namespace

Result<StreamClock> StreamClock::create(const cuda::Context& context, cuda::Stream stream) {
  const cuda::Driver& d = context.driver();
  StreamClock clock;
  clock.driver_ = &d;
  clock.stream_ = stream;
  auto buffer = cuda::Buffer::allocate(context, kDelayBytes);
  if (!buffer) return tl::unexpected(buffer.error());
  clock.device_ = std::move(*buffer);
  for (const auto& [code, what] :
       {std::pair{d.EventCreate(&clock.start_, 0), "making an event"},
        std::pair{d.EventCreate(&clock.stop_, 0), "making an event"},
        std::pair{d.MemAllocHost(&clock.host_, kDelayBytes), "page-locking memory"}}) {
    if (Status s = d.check(code, what); !s) return tl::unexpected(s.error());
  }
  std::memset(clock.host_, 0, kDelayBytes);
  return clock;
}

StreamClock::~StreamClock() {
  if (driver_ == nullptr) return;
  if (start_ != nullptr) driver_->EventDestroy(start_);
  if (stop_ != nullptr) driver_->EventDestroy(stop_);
  if (host_ != nullptr) driver_->MemFreeHost(host_);
}

StreamClock::StreamClock(StreamClock&& other) noexcept
    : driver_(std::exchange(other.driver_, nullptr)),
      stream_(other.stream_),
      start_(other.start_),
      stop_(other.stop_),
      host_(other.host_),
      device_(std::move(other.device_)) {}

Status StreamClock::delay() {
  return driver_->check(driver_->MemcpyHtoDAsync(device_.address(), host_, kDelayBytes, stream_),
                        "copying");
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
