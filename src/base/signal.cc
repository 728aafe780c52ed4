// SPDX-License-Identifier: Apache-2.0
// See signal.h.
#include "base/signal.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <climits>

namespace tilewright {
namespace {

constexpr std::int64_t kSpinNanoseconds = 100'000;
constexpr int kLooksPerClock = 64;

void relax() {
#if defined(__x86_64__)
  _mm_pause();
#else
  std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
}

std::int64_t now_nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

void futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value) {
  syscall(SYS_futex, &word, operation | FUTEX_PRIVATE_FLAG, value, nullptr, nullptr, 0);
}

}  // namespace

void Signal::set(std::uint32_t value) {
  value_.store(value, std::memory_order_seq_cst);
  if (sleepers_.load(std::memory_order_seq_cst) != 0) futex(value_, FUTEX_WAKE, INT_MAX);
}

void Signal::wait_while(std::uint32_t old, bool spin) {
  const std::int64_t deadline = spin ? now_nanoseconds() + kSpinNanoseconds : 0;
  do {
    for (int look = 0; look < kLooksPerClock; ++look) {
      if (value_.load(std::memory_order_acquire) != old) return;
      relax();
    }
  } while (spin && now_nanoseconds() < deadline);
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  while (value_.load(std::memory_order_seq_cst) == old) futex(value_, FUTEX_WAIT, old);
  sleepers_.fetch_sub(1, std::memory_order_seq_cst);
}

void Barrier::wait(int threads, bool spin) {
  if (threads == 1) return;
  const std::uint32_t turn = turn_.load();
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == static_cast<std::uint32_t>(threads)) {
    arrived_.store(0, std::memory_order_relaxed);
    turn_.set(turn + 1);
  } else {
    turn_.wait_while(turn, spin);
  }
}

}  // namespace tilewright
