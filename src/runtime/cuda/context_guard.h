// SPDX-License-Identifier: Apache-2.0
// What of a thread's state is changed for a while and put back: whoever links the library has a
// current device of his own (CASES I04), and may be capturing.
#pragma once

#include "device/cuda/context.h"

namespace tilewright::runtime {

// Makes a context current on this thread.
class ContextGuard {
 public:
  ContextGuard(const cuda::Driver& driver, cuda::ContextHandle wanted) : driver_(driver) {
    driver_.CtxGetCurrent(&before_);
    if (before_ == wanted) return;
    code_ = driver_.CtxSetCurrent(wanted);
    changed_ = true;
  }
  // Puts back what is current now, whatever happens in between.
  explicit ContextGuard(const cuda::Driver& driver) : driver_(driver), changed_(true) {
    driver_.CtxGetCurrent(&before_);
  }
  ~ContextGuard() {
    if (changed_) driver_.CtxSetCurrent(before_);
  }
  ContextGuard(const ContextGuard&) = delete;
  ContextGuard& operator=(const ContextGuard&) = delete;
  [[nodiscard]] cuda::Code code() const { return code_; }

 private:
  const cuda::Driver& driver_;
  cuda::ContextHandle before_ = nullptr;
  cuda::Code code_ = cuda::kSuccess;
  bool changed_ = false;
};

// Lets this thread allocate and load while another one captures: that would fail else, and spoil
// the capture.
class RelaxedThread {
 public:
  explicit RelaxedThread(const cuda::Driver& driver) : driver_(driver) {
    driver_.ThreadExchangeStreamCaptureMode(&mode_);
  }
  ~RelaxedThread() { driver_.ThreadExchangeStreamCaptureMode(&mode_); }
  RelaxedThread(const RelaxedThread&) = delete;
  RelaxedThread& operator=(const RelaxedThread&) = delete;

 private:
  const cuda::Driver& driver_;
  int mode_ = cuda::kRelaxedCapture;
};

}  // namespace tilewright::runtime
