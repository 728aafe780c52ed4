// SPDX-License-Identifier: Apache-2.0
// See handle.h.
#include "runtime/handle.h"

#include "runtime/known_part.h"
#include "runtime/recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tilewright::runtime {
namespace {

using Opened = tl::expected<std::unique_ptr<Backend>, Failure>;

tl::unexpected<Failure> invalid(std::string message) {
  return tl::unexpected(Failure{TW_INVALID, std::move(message)});
}

tl::expected<tw_handle, Failure> wrapped(Opened opened, std::string remark) {
  if (!opened) return tl::unexpected(std::move(opened.error()));
  auto handle = std::make_unique<tw_handle_s>();
  handle->backend = *std::move(opened);
  handle->remark = std::move(remark);
  handle->recorder = Recorder::of_this_process();
  return handle.release();
}

}  // namespace

tl::expected<Options, Failure> checked(const tw_options* options) {
  Options result;
  if (options == nullptr) return result;
  const auto known = known_part<tw_options>(options, "options", "tw_options");
  if (!known) return tl::unexpected(known.error());
  if (known->device < TW_DEVICE_AUTO) {
    return invalid(
        fmt::format("device={} is no CUDA device, TW_DEVICE_CPU or TW_DEVICE_AUTO", known->device));
  }
  if (known->threads < 0) return invalid(fmt::format("threads={} is negative", known->threads));
  if (known->streams < 0) return invalid(fmt::format("streams={} is negative", known->streams));
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 62;
  if (known->workspace_bytes > kMostBytes) {
    return invalid(fmt::format("workspace_bytes={} is more than 2^62", known->workspace_bytes));
  }
  constexpr std::int64_t kMostMilliseconds = 60'000;
  if (known->timing_ms > kMostMilliseconds) {
    return invalid(
        fmt::format("timing_ms={} is more than {}", known->timing_ms, kMostMilliseconds));
  }
  result.device = known->device;
  result.threads = known->threads;
  result.no_vendor = known->no_vendor != 0;
  result.installed_wisdom = known->wisdom == nullptr;
  if (known->wisdom != nullptr) result.wisdom = known->wisdom;
  if (known->kernels != nullptr) result.kernels = known->kernels;
  if (known->streams != 0) result.streams = known->streams;
  if (known->workspace_bytes != 0) {
    result.workspace_bytes = static_cast<std::int64_t>(known->workspace_bytes);
  }
  if (known->timing_ms != 0) {
    result.timing_seconds = 1e-3 * static_cast<double>(std::max<std::int64_t>(known->timing_ms, 0));
  }
  return result;
}

tl::expected<tw_handle, Failure> open_handle(const Options& options, const Openers& openers) {
  if (options.device == TW_DEVICE_CPU) return wrapped(openers.cpu(options), "");
  if (options.device >= 0) return wrapped(openers.cuda(options, options.device), "");
  Opened cuda = openers.cuda(options, 0);
  // What the caller got wrong is told, not worked around.
  if (cuda || cuda.error().status == TW_INVALID) return wrapped(std::move(cuda), "");
  return wrapped(
      openers.cpu(options),
      fmt::format("on the CPU, since no CUDA device can be used: {}", cuda.error().message));
}

}  // namespace tilewright::runtime
