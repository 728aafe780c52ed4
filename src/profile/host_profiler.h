// SPDX-License-Identifier: Apache-2.0
// The same for a CPU: a contestant's calls in tilewright-runner, between counters of its threads.
// Where there are no counters its time and what follows from it remain.
#pragma once

#include "execute/session.h"
#include "profile/profiler.h"

namespace tilewright {

class HostProfiler {
 public:
  [[nodiscard]] static Result<HostProfiler> open(const Device& device,
                                                 const ProfilerOptions& options);
  [[nodiscard]] Result<Profiled> candidate(const Problem& problem, const Binary& binary);
  [[nodiscard]] Result<Profiled> baseline(const Problem& problem, const std::string& name);

 private:
  HostProfiler(Device device, Worker worker, ProfilerOptions options, double peak)
      : device_(std::move(device)),
        worker_(std::move(worker)),
        options_(std::move(options)),
        peak_(peak) {}
  [[nodiscard]] Result<Profiled> take(const Problem& problem, const Binary* binary,
                                      const std::string& name);

  Device device_;
  Worker worker_;
  ProfilerOptions options_;
  double peak_;  // f32 operations a second of the team
  bool told_ = false;
};

// Values of `calls` calls out of what the counters of `threads` threads counted in `seconds`.
[[nodiscard]] Profile host_profile(const std::map<std::string, double>& counts, double seconds,
                                   double calls, int threads);

}  // namespace tilewright
