// SPDX-License-Identifier: Apache-2.0
// What a device offers to the runtime library. api.cc has checked every call and operand before.
#pragma once

#include "launch/launch.h"
#include "runtime/call.h"

#include <memory>
#include <string>

namespace tilewright::runtime {

struct Options {
  int device = TW_DEVICE_AUTO;
  int threads = 0;  // CPU: 0 as many as this process may use
  bool no_vendor = false;
  // Wisdom to read: the installed files, one given file, or none.
  bool installed_wisdom = true;
  std::string wisdom;
  std::string kernels;  // CUDA: a folder of bundles besides the installed ones
  int streams = 8;
  std::int64_t workspace_bytes = std::int64_t{32} << 20;
  double timing_seconds = 0.05;  // CUDA: that prepare() may take to time a description; 0: none
};

// What served a call, for tw_get_counts.
enum class Origin { exact, nearest, built_in, vendor, empty };

// The kernel of ours that runs a call whose operands are aligned to 16 bytes, as values, for who
// wants to time it by itself.
struct Choice {
  Origin origin = Origin::built_in;
  std::string program, why;
  Launch launch;
  std::string cubin;
  int launches = 1;
  std::string vendor_because;          // not empty: the vendor's library goes before it, and why
  double timed = 0, vendor_timed = 0;  // seconds as prepare() found them; 0: it did not time it
};

class Backend {
 public:
  virtual ~Backend() = default;
  // All that is slow for calls like this one on this stream.
  [[nodiscard]] virtual tl::expected<void, Failure> prepare(const Call& call, void* stream) = 0;
  // Runs (CPU) or enqueues (GPU) the product. Never throws after it began to write.
  [[nodiscard]] virtual tl::expected<Origin, Failure> run(const Call& call,
                                                          const Operands& operands,
                                                          void* stream) = 0;
  // Lines of text for tw_explain, for alpha = 1 and beta = 0.
  [[nodiscard]] virtual tl::expected<std::string, Failure> explain(const Call& call) = 0;
  // With alpha = 1 and beta = 0, or (`scales`) with any. TW_UNSUPPORTED where kernels are no files.
  [[nodiscard]] virtual tl::expected<Choice, Failure> choose(const Call& /*call*/,
                                                             bool /*scales*/) {
    return tl::unexpected(
        Failure{TW_UNSUPPORTED, "the kernels of this device are part of the library"});
  }
};

[[nodiscard]] tl::expected<std::unique_ptr<Backend>, Failure> open_cpu(const Options& options);
[[nodiscard]] tl::expected<std::unique_ptr<Backend>, Failure> open_cuda(const Options& options,
                                                                        int ordinal);

}  // namespace tilewright::runtime
