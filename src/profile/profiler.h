// SPDX-License-Identifier: Apache-2.0
// A kernel's profile on a CUDA device: our candidate's, or what a vendor's library runs.
//
// Each contestant runs twice in a process of its own: first without a profiler, which tells its
// usual time, what a library chooses, and whether a candidate runs at all; then under Nsight
// Compute, which replays the one marked call for each group of counters. Nothing is proven here.
#pragma once

#include "compile/compile.h"
#include "device/device.h"
#include "problem/problem.h"
#include "profile/ncu.h"
#include "trial/profile.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tilewright {

enum class CacheState { as_timed, flush, keep };

struct ProfilerOptions {
  std::filesystem::path runner;            // empty: as WorkerOptions::runner
  std::vector<std::string> extra_metrics;  // besides the named values
  // What a call finds in the caches. `as_timed`: nothing if the operand sets that timing rotates
  // over exceed the L2 together, else what the call before left.
  CacheState caches = CacheState::as_timed;
  int warm_calls = 3;
  std::function<void(const std::string&)> log;
};

struct Profiled {
  Finding finding;     // other than ok: the candidate could not be run, nothing below is set
  double time_us = 0;  // a call, over all operand sets, without the profiler
  bool flushed = false;
  std::string choice;  // of a library: its algorithm
  Profile profile;
};

class Profiler {
 public:
  // Asks the tool once what it can measure here. Its log hears what cannot be.
  [[nodiscard]] static Result<Profiler> open(const Device& device, ProfilerOptions options);
  ~Profiler();
  Profiler(Profiler&&) noexcept;
  Profiler& operator=(Profiler&&) noexcept;

  // An Error means that the tool or the runner failed.
  [[nodiscard]] Result<Profiled> candidate(const Problem& problem, const Binary& binary);
  // `name` as in baseline/cuda/cuda_baseline.h.
  [[nodiscard]] Result<Profiled> baseline(const Problem& problem, const std::string& name);

  [[nodiscard]] const Ncu& tool() const;

 private:
  struct State;
  explicit Profiler(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Facts that the compiler told of a kernel, as values of the same kind: where the tool has them
// too, its own count.
void add_compiler_facts(const CubinFacts& facts, Profile& profile);

}  // namespace tilewright
