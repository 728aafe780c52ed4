// SPDX-License-Identifier: Apache-2.0
// One contestant, called by a CUDA runner that works alone (tilewright-cuda-runner --script):
// timed, or for a profiler to look at.
#pragma once

#include "compile/compile.h"
#include "device/device.h"
#include "execute/protocol.h"
#include "problem/problem.h"

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace tilewright {

struct Job {
  Problem problem;
  Device device;
  const Binary* candidate = nullptr;  // or a baseline of baseline/cuda/cuda_baseline.h by its name
  std::string baseline;
  int sets = 1;  // operand sets
  double vendor_search = 1;
};

// The files of a job in `folder`, which exists.
struct JobFiles {
  std::filesystem::path requests, replies, cubin;  // cubin is empty for a baseline
  // The runner's command.
  [[nodiscard]] std::vector<std::string> command(const std::filesystem::path& runner) const;
};
// What the job asks after it has opened its contestant: a TimeRequest or a ProfileRequest.
[[nodiscard]] Result<JobFiles> write_job(const Job& job, RequestBody question,
                                         const std::filesystem::path& folder);

// The replies to write_job()'s three requests, or how the contestant failed as far as it came.
struct JobReplies {
  Finding finding;
  std::string choice;              // of a baseline
  std::vector<RawSample> samples;  // of a TimeRequest
};
[[nodiscard]] Result<JobReplies> read_replies(const JobFiles& files);

// "candidate" or the baseline.
[[nodiscard]] std::string contestant_of(const Job& job);

}  // namespace tilewright
