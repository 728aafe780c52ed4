// SPDX-License-Identifier: Apache-2.0
// See compile_queue.h.
#include "tune/compile_queue.h"

#include "generate/generate.h"

namespace tilewright {

CompileQueue::CompileQueue(Compiler& compiler, QuietGate& gate, Problem problem, Device device,
                           int workers)
    : compiler_(compiler), gate_(gate), problem_(problem), device_(std::move(device)) {
  for (int i = 0; i < workers; ++i) workers_.emplace_back([this] { work(); });
}

CompileQueue::~CompileQueue() {
  {
    const std::scoped_lock lock(mutex_);
    stop_ = true;
    waiting_.clear();
  }
  changed_.notify_all();
}

void CompileQueue::push(Program program) {
  {
    const std::scoped_lock lock(mutex_);
    waiting_.push_back(std::move(program));
    ++in_flight_;
  }
  changed_.notify_all();
}

std::optional<Built> CompileQueue::pop(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, patience, [&] { return !done_.empty(); });
  if (done_.empty()) return std::nullopt;
  Built built = std::move(done_.front());
  done_.pop_front();
  --in_flight_;
  return built;
}

std::size_t CompileQueue::in_flight() const {
  const std::scoped_lock lock(mutex_);
  return in_flight_;
}

void CompileQueue::work() {
  for (;;) {
    std::optional<Program> program;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stop_ || !waiting_.empty(); });
      if (stop_) return;
      program = std::move(waiting_.front());
      waiting_.pop_front();
    }
    CompileResult result;
    if (auto source = generate(*program, problem_, device_)) {
      QuietGate::Worker working(gate_);
      result = compiler_.compile(*source, working.supervision([this] { return stop_.load(); }));
    } else {
      result.finding = {Outcome::illegal, "generate", source.error().message};
    }
    {
      const std::scoped_lock lock(mutex_);
      done_.push_back({*std::move(program), std::move(result)});
    }
    changed_.notify_all();
  }
}

}  // namespace tilewright
