// SPDX-License-Identifier: Apache-2.0
// Implementation of host_profiler.h.
#include "profile/host_profiler.h"

#include "base/rng.h"
#include "device/fma_peak.h"
#include "measure/measure.h"
#include "profile/perf_counters.h"

#include <algorithm>
#include <cstring>

namespace tilewright {
namespace {

constexpr double kSeconds = 0.2;
constexpr int kMostCalls = 10000;

void fill(std::span<std::byte> bytes, ElementType type) {
  constexpr std::size_t kBlock = std::size_t{1} << 18;
  std::vector<std::byte> block(std::min(kBlock * size_of(type), bytes.size()));
  Rng rng(1);
  for (std::size_t i = 0; i < block.size() / size_of(type); ++i) {
    store(type, block.data(), static_cast<std::int64_t>(i), rng.normal());
  }
  for (std::size_t at = 0; at < bytes.size(); at += block.size()) {
    std::memcpy(bytes.data() + at, block.data(), std::min(block.size(), bytes.size() - at));
  }
}

Result<Arena> operands(const Problem& problem, const Device& device, const Binary* binary) {
  std::int64_t workspace = 0;
  if (binary != nullptr) {
    const auto asked = workspace_bytes(binary->launch, problem);
    if (!asked) return tl::unexpected(asked.error());
    workspace = *asked;
  }
  auto arena = Arena::create(problem, sets_for(problem, device, Mode::offline), workspace);
  if (!arena) return arena;
  arena->use_workspace(workspace);
  for (int set = 0; set < arena->layout().sets; ++set) {
    fill(arena->a(set), problem.in);
    fill(arena->b(set), problem.in);
    fill(arena->c(set), problem.out);
  }
  return arena;
}

double median_seconds(const TimingReply& reply) {
  std::vector<double> seconds;
  for (const Sample& sample : reply.samples) seconds.push_back(sample.seconds);
  std::ranges::sort(seconds);
  return seconds.empty() ? 0 : seconds[seconds.size() / 2];
}

}  // namespace

Profile host_profile(const std::map<std::string, double>& counts, double seconds, double calls,
                     int threads) {
  Profile profile;
  if (counts.empty()) return profile;
  profile.tool = "perf events";
  const auto count = [&](const char* name) -> const double* {
    const auto found = counts.find(name);
    return found == counts.end() ? nullptr : &found->second;
  };
  for (const char* name :
       {"cycles", "instructions", "cache_references", "cache_misses", "branch_misses"}) {
    if (const double* value = count(name)) profile.values[name] = *value / calls;
  }
  const double *cycles = count("cycles"), *instructions = count("instructions");
  if (cycles != nullptr && instructions != nullptr && *cycles > 0) {
    profile.values["instructions_per_cycle"] = *instructions / *cycles;
  }
  const double *asked = count("cache_references"), *missed = count("cache_misses");
  if (asked != nullptr && missed != nullptr && *asked > 0) {
    profile.values["cache_hit_pct"] = std::clamp(100 * (1 - *missed / *asked), 0.0, 100.0);
  }
  if (const double* task = count("task_ns"); task != nullptr && seconds > 0) {
    profile.values["busy_pct"] = std::min(100.0, 100 * *task * 1e-9 / (seconds * threads));
  }
  return profile;
}

Result<HostProfiler> HostProfiler::open(const Device& device, const ProfilerOptions& options) {
  WorkerOptions worker_options;
  worker_options.runner = options.runner;
  auto worker = Worker::start(worker_options, device);
  if (!worker) return tl::unexpected(worker.error());
  const double peak = measure_fma_peak(device, std::max(device.cores, 1));
  return HostProfiler(device, *std::move(worker), options, peak);
}

Result<Profiled> HostProfiler::candidate(const Problem& problem, const Binary& binary) {
  return take(problem, &binary, "candidate");
}
Result<Profiled> HostProfiler::baseline(const Problem& problem, const std::string& name) {
  return take(problem, nullptr, name);
}

Result<Profiled> HostProfiler::take(const Problem& problem, const Binary* binary,
                                    const std::string& name) {
  const auto arena = operands(problem, device_, binary);
  if (!arena) return tl::unexpected(arena.error());
  auto opened = worker_.open(*arena, binary,
                             binary != nullptr ? std::vector<std::string>() : std::vector{name});
  if (!opened) return tl::unexpected(opened.error());
  Profiled result;
  result.finding = opened->finding;
  if (!result.finding.ok()) return result;
  Burst burst;
  burst.contestant = name;
  TimingReply reply = opened->session->time({burst, burst, burst});
  const double once = median_seconds(reply);
  if (reply.finding.ok() && once > 0) {
    burst.calls = static_cast<int>(std::clamp(kSeconds / once, 1.0, double{kMostCalls}));
    PerfCounters counters = PerfCounters::open(static_cast<pid_t>(opened->session->process()));
    if (!counters.missing().empty() && options_.log && !told_) options_.log(counters.missing());
    told_ = true;
    counters.start();
    reply = opened->session->time({burst});
    counters.stop();
    // One call more than is counted wakes the team.
    result.profile = host_profile(counters.values(), reply.wall_seconds, burst.calls + 1,
                                  std::max(device_.cores, 1));
  }
  result.finding = reply.finding;
  if (!result.finding.ok()) return result;
  const double seconds = median_seconds(reply);
  result.time_us = seconds * 1e6;
  if (seconds > 0 && peak_ > 0) {
    result.profile.values["fma_pct"] = 100 * problem.flop() / seconds / peak_;
  }
  if (result.profile.tool.empty()) result.profile.tool = "time alone";
  return result;
}

}  // namespace tilewright
