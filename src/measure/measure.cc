// SPDX-License-Identifier: Apache-2.0
// The protocol: calibrate, then rounds until enough are believed. What to run and what to believe
// is decided in rounds.cc.
#include "measure/measure.h"

#include "measure/rounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

namespace tilewright {
namespace {

constexpr std::array<std::string_view, 7> kModeNames = {"offline", "hot",     "cold",     "server",
                                                        "wall",    "chained", "sustained"};

constexpr int kCalibrationCalls = 3;
constexpr int kMostOfflineSets = 16;
constexpr int kMostGraphSets = 32;
constexpr double kGraphBytes = 256 << 20;   // that large sets together reach at least
constexpr std::int64_t kPrivateCaches = 4;  // times what the cores hold for themselves
constexpr std::int64_t kSharedCaches = 2;   // times the last level

// One burst in a request of its own, so that our clock judges it alone.
struct Asked {
  Finding finding;
  BurstResult result;
};
Asked ask(const World& world, const Burst& burst) {
  const TimingReply reply = world.time({burst});
  return {reply.finding, reduce(reply)};
}

// Seconds per call of each slot: a first call that warms code and pages, then a few that count.
Finding calibrate(const World& world, const std::vector<Slot>& slots, const MeasureOptions& options,
                  std::vector<int>& calls) {
  calls.assign(slots.size(), 1);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].self) {  // the pair must have equal bursts
      calls[i] = calls[0];
      continue;
    }
    Burst burst;
    burst.contestant = slots[i].contestant;
    burst.settle_seconds = options.settle_seconds;
    burst.wall = options.mode == Mode::wall;
    Asked first = ask(world, burst);
    if (!first.finding.ok()) return std::move(first.finding);
    double seconds = first.result.seconds;
    if (seconds < options.burst_seconds) {
      burst.calls = kCalibrationCalls;
      Asked more = ask(world, burst);
      if (!more.finding.ok()) return std::move(more.finding);
      seconds = std::min(seconds, more.result.seconds);
    }
    calls[i] = calls_for(seconds, options);
  }
  return {};
}

// The bursts of a round, one after the other.
Finding run(const World& world, const std::vector<PlannedBurst>& plan, Round& round) {
  std::vector<bool> ran(round.size(), false);
  for (const PlannedBurst& planned : plan) {
    Asked asked = ask(world, planned.burst);
    if (!asked.finding.ok()) return std::move(asked.finding);
    if (!planned.counts) continue;
    const auto slot = static_cast<std::size_t>(planned.slot);
    round[slot] = ran[slot] ? together(round[slot], asked.result) : asked.result;
    ran[slot] = true;
  }
  return {};
}

// Rounds that do not count, until the clocks have settled: a burst from a cool card is up to 17 %
// faster where power limits, and not by as much for all.
Finding warm_up(const World& world, const std::vector<Slot>& slots, const std::vector<int>& calls,
                int sets, const MeasureOptions& options) {
  const double start = world.now();
  int next_set = 0;
  for (int i = 0; world.now() - start < options.warm_seconds; ++i) {
    Round uncounted(slots.size());
    const auto plan = plan_round(slots, calls, i, sets, next_set, options);
    if (Finding finding = run(world, plan, uncounted); !finding.ok()) return finding;
  }
  return {};
}

// Where the candidate has written, uncounted calls included.
std::vector<int> visited_sets(const std::vector<Burst>& plan, int sets) {
  std::vector<int> visited;
  const auto calls = calls_per_set(plan, kCandidate, sets);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (calls[i] > 0) visited.push_back(static_cast<int>(i));
  }
  return visited;
}

}  // namespace

std::string_view name_of(Mode mode) {
  return kModeNames[static_cast<std::size_t>(mode)];
}

bool is_searched(Mode mode) {
  return mode != Mode::chained && mode != Mode::sustained;
}

std::optional<Mode> mode_from(std::string_view name) {
  const auto* found = std::ranges::find(kModeNames, name);
  if (found == kModeNames.end()) return std::nullopt;
  return static_cast<Mode>(found - kModeNames.begin());
}

Timing measure_in(const World& world, int sets, const std::vector<std::string>& baselines,
                  const MeasureOptions& options, const TimedChecks& checks) {
  const double start = world.now();
  const std::vector<Slot> slots = slots_for(baselines, options.self_pair);
  std::vector<Round> rounds;
  const auto ended = [&](Finding finding) {
    Timing timing;
    timing.mode = options.mode;
    timing.finding = std::move(finding);
    timing.seconds = world.now() - start;
    return timing;
  };
  if (options.mode == Mode::hot && sets != 1) {
    return ended({Outcome::noisy, "arena",
                  fmt::format("hot mode reuses one operand set; the arena has {}", sets)});
  }
  std::vector<int> calls;
  if (Finding finding = calibrate(world, slots, options, calls); !finding.ok()) {
    return ended(std::move(finding));
  }
  for (int& each : calls) each = whole_turns(each, sets, options);
  if (Finding finding = warm_up(world, slots, calls, sets, options); !finding.ok()) {
    return ended(std::move(finding));
  }
  int next_set = 0;
  int believed = 0, wanted = std::max(options.rounds, 1);
  for (int i = 0; i < most_rounds(options, wanted) && believed < wanted; ++i) {
    if (checks.before_round) {
      checks.before_round();
      if (Finding finding = world.reprepare(); !finding.ok()) return ended(std::move(finding));
    }
    Round round(slots.size());
    const auto plan = plan_round(slots, calls, i, sets, next_set, options);
    if (Finding finding = run(world, plan, round); !finding.ok()) return ended(std::move(finding));
    if (checks.after_round) {
      std::vector<Burst> bursts;
      for (const PlannedBurst& planned : plan) bursts.push_back(planned.burst);
      Finding finding = checks.after_round(visited_sets(bursts, sets));
      if (!finding.ok()) return ended(std::move(finding));
    }
    rounds.push_back(std::move(round));
    const auto reasons = contaminations(slots, rounds, options.device_clock);
    believed = static_cast<int>(std::ranges::count(reasons, std::string{}));
    if (believed >= wanted) wanted = rounds_wanted(slots, rounds, wanted, options);
  }
  Timing timing = conclude(slots, rounds, options);
  timing.seconds = world.now() - start;
  return timing;
}

Timing measure(Session& session, int sets, const std::vector<std::string>& baselines,
               const MeasureOptions& options, const TimedChecks& checks) {
  using Clock = std::chrono::steady_clock;
  using Seconds = std::chrono::duration<double>;
  const World world{
      .time = [&](const std::vector<Burst>& plan) { return session.time(plan); },
      .reprepare = [&] { return baselines.empty() ? Finding{} : session.reprepare(); },
      .now = [] { return Seconds(Clock::now().time_since_epoch()).count(); },
  };
  return measure_in(world, sets, baselines, options, checks);
}

void set_gap(MeasureOptions& options, double mean_us) {
  const int calls = options.device_clock ? 400 : 200;
  options.gap_mean_us = mean_us;
  const int rounds = std::max(options.rounds, 1);
  options.min_calls = (calls + rounds - 1) / rounds;
  options.burst_seconds = options.min_calls * mean_us * 1e-6;
}

std::string recorded_mode(const MeasureOptions& options, const Device& device) {
  constexpr double kMillisecond = 1000;
  std::string name(name_of(options.mode));
  const double gap = options.gap_mean_us;
  if (options.mode != Mode::server || gap == options_for(device, options.mode).gap_mean_us) {
    return name;
  }
  const bool whole = std::fmod(gap, kMillisecond) == 0;
  return name + (whole ? fmt::format("_{}ms", gap / kMillisecond) : fmt::format("_{}us", gap));
}

MeasureOptions options_for(const Device& device, Mode mode) {
  MeasureOptions options;
  options.mode = mode;
  if (device.kind == DeviceKind::cuda) {
    options.rounds = 5;
    options.burst_seconds = 0.02;
    options.max_calls = 64 * 16;  // a graph of 64 launches, replayed
    options.settle_seconds = 0;
    options.device_clock = mode != Mode::wall;
    constexpr double kServerGap = 1000;
    if (mode == Mode::server) set_gap(options, kServerGap);
    if (mode == Mode::sustained) {
      options.burst_seconds = 0.3;
      options.max_calls = 1 << 20;
    }
  }
  return options;
}

int sets_for(const Problem& problem, const Device& device, Mode mode, std::int64_t byte_limit) {
  if (mode == Mode::hot) return 1;
  const double touched = std::max(problem.bytes(), 1.0);
  // In memory a set is larger than what one call touches: the baselines have a C of their own.
  const double stored = touched + static_cast<double>(problem.batch) *
                                      static_cast<double>(problem.c_rows()) *
                                      static_cast<double>(problem.c_stride()) *
                                      static_cast<double>(size_of(problem.out));
  const auto exceeding = [&](double bytes) { return std::floor(bytes / touched) + 1; };
  const std::int64_t last = std::max({device.l3_bytes, device.l2_bytes, device.l1d_bytes});
  double sets = exceeding(static_cast<double>(kSharedCaches * last));
  if (mode != Mode::cold && device.kind == DeviceKind::cuda) {
    sets = std::clamp(std::ceil(kGraphBytes / touched), 2.0, static_cast<double>(kMostGraphSets));
  } else if (mode != Mode::cold) {
    sets = exceeding(static_cast<double>(kPrivateCaches * (device.l1d_bytes + device.l2_bytes) *
                                         std::max(device.cores, 1)));
    sets = std::clamp(sets, 2.0, static_cast<double>(kMostOfflineSets));
  }
  const double fitting = std::floor(static_cast<double>(byte_limit) / stored);
  return static_cast<int>(std::max(std::min(sets, fitting), 1.0));
}

int sets_for(const Problem& problem, const Device& device, Mode mode) {
  const std::int64_t gibibyte = std::int64_t{1} << 30;
  return sets_for(problem, device, mode,
                  device.kind == DeviceKind::cuda ? device.cuda.memory_bytes / 4 : gibibyte);
}

}  // namespace tilewright
