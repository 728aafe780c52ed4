// SPDX-License-Identifier: Apache-2.0
// What the fake driver of this folder knows and counts, shared with the tests that look at it.
#pragma once

#include "device/cuda/driver.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace tilewright {

struct FakeLaunch {
  std::string symbol;
  cuda::ContextHandle context = nullptr;
  cuda::Stream stream = nullptr;
  unsigned grid[3] = {};
  std::map<std::string, std::uint64_t> values;  // of each argument, by its word
};

// A cubin as the fake driver reads it: 64 bytes that begin like an object file, then a line of
// words: symbol, types of inputs and results, layouts ("n" or "t") of A and B, elements by which A,
// B and C are aligned, "program:" and its text with commas, and the launch's arguments; then for
// each step before it "|", its symbol and its arguments.
struct FakeCubin {
  std::string symbol = "tw_kernel", in = "f16", out = "f16", a = "n", b = "n";
  int vector_a = 1, vector_b = 1, vector_c = 1;
  std::string program;  // empty: of a step before
  std::vector<std::string> arguments;
};

struct FakeState {
  using Work = std::function<cuda::Code()>;
  // Calls so far.
  std::atomic<int> allocations = 0, loads = 0, waits = 0, launches = 0, maps = 0, sets = 0;
  std::atomic<bool> compute = true;  // false: launches are kept and nothing else is done
  std::atomic<bool> keep = false;    // launches are kept in `kept`
  std::atomic<int> launch_code = 0;  // what launches return
  std::atomic<int> wait_code = 0;    // what waiting for a stream returns
  std::atomic<bool> out_of_memory = false;
  std::atomic<cuda::Pointer> elsewhere = 0;  // an address in the memory of device 1
  std::atomic<std::size_t> free_bytes = std::size_t{60} << 30;
  // The device's clock, which events read, and what a kernel and a product of the vendor's take.
  std::atomic<double> clock_us = 0, vendor_us = 1;
  std::function<double(const FakeCubin&)> cost;  // microseconds; empty: 1
  // For the vendor's library, which is another one: work for a stream.
  cuda::Code (*enqueue)(cuda::Stream, Work, double microseconds) = nullptr;
  std::mutex mutex;
  std::vector<FakeLaunch> kept;
  std::vector<std::string> faults;  // what a real device would not have forgiven
};

}  // namespace tilewright

extern "C" tilewright::FakeState* tw_fake_state();
