// SPDX-License-Identifier: Apache-2.0
// What a tw_handle points to: a device's backend, how often it was served by what, and the
// recorder.
//
// The C functions (api.cc) only turn what is here into status codes.
#pragma once

#include "runtime/backend.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace tilewright::runtime {

class Recorder;

// The backends, so that tests can put others in their place.
struct Openers {
  tl::expected<std::unique_ptr<Backend>, Failure> (*cpu)(const Options&) = open_cpu;
  tl::expected<std::unique_ptr<Backend>, Failure> (*cuda)(const Options&, int) = open_cuda;
};

// The options of a caller, checked. NULL: the defaults.
[[nodiscard]] tl::expected<Options, Failure> checked(const tw_options* options);

// The handle for a device. TW_DEVICE_AUTO takes the CPU where no CUDA device can be used.
[[nodiscard]] tl::expected<tw_handle, Failure> open_handle(const Options& options,
                                                           const Openers& openers = {});

}  // namespace tilewright::runtime

// Named by the public header, hence in no namespace.
struct tw_handle_s {
  using Origin = tilewright::runtime::Origin;
  static constexpr std::size_t kOrigins = 5;

  std::unique_ptr<tilewright::runtime::Backend> backend;
  std::string remark;  // a line for tw_explain about how the device was chosen, or empty
  std::shared_ptr<tilewright::runtime::Recorder> recorder;  // null: nothing is recorded
  std::array<std::atomic<std::uint64_t>, kOrigins> served{};

  void count(Origin origin) {
    served[static_cast<std::size_t>(origin)].fetch_add(1, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t counted(Origin origin) const {
    return served[static_cast<std::size_t>(origin)].load(std::memory_order_relaxed);
  }
};
