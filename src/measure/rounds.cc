// SPDX-License-Identifier: Apache-2.0
// Planning, judging and concluding. docs/measurement.md argues the numbers below.
#include "measure/rounds.h"

#include "base/rng.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <ranges>
#include <utility>

namespace tilewright {
namespace {

constexpr std::uint64_t kOrderStream = 0x0de5, kGapStream = 0x9a9;

// Switches: a quiet machine has a few per second; a neighbour's compiler has hundreds.
constexpr std::int64_t kFewSwitches = 4;
constexpr double kSwitchesPerSecond = 200;
constexpr double kUsualFactor = 3;  // times the contestant's own median
// Clocks: what a request may cost besides its bursts.
constexpr double kRequestSeconds = 0.002;
constexpr double kRequestFraction = 0.1;
// The same binary twice in one round: a difference beyond this is not the binary's.
constexpr double kSelfFactor = 1.25;
// A candidate's clock: unexplained time against that of the baselines.
constexpr double kClockFactor = 3, kClockSlack = 0.0005, kClockAlone = 0.005;

constexpr int kVerdictRounds = 5;  // fewer give no verdict
// Where less than a third of the rounds can be believed, those are a lucky selection.
constexpr std::size_t kMostTriesPerRound = 3;

// A Williams design: over as many rounds as there are slots each has every place once, and follows
// every other once (with an odd number, over two such turns). E. J. Williams, "Experimental designs
// balanced for the estimation of residual effects of treatments", 1949.
std::vector<int> balanced_order(std::size_t slots, int round, std::uint64_t seed) {
  std::vector<int> named(slots), order;
  for (std::size_t i = 0; i < slots; ++i) named[i] = static_cast<int>(i);
  Rng rng(seed, kOrderStream);
  for (std::size_t i = slots; i > 1; --i) {  // Fisher and Yates
    std::swap(named[i - 1], named[rng.below(i)]);
  }
  const auto turn = static_cast<std::size_t>(round);
  for (std::size_t i = 0; i < slots; ++i) {  // 0, 1, n - 1, 2, n - 2, ...
    const std::size_t step = i % 2 == 1 ? (i + 1) / 2 : slots - i / 2;
    order.push_back(named[(step + turn) % slots]);
  }
  if (slots % 2 == 1 && turn / slots % 2 == 1) std::ranges::reverse(order);
  return order;
}

double overhead(const BurstResult& burst) {
  return burst.wall - burst.claimed;
}

template <class Value>
std::vector<double> over_rounds(const std::vector<Round>& rounds, std::size_t slot,
                                const Value& value) {
  std::vector<double> values;
  for (const Round& round : rounds) values.push_back(static_cast<double>(value(round[slot])));
  return values;
}

std::string contamination(const std::vector<Slot>& slots, const Round& round,
                          const std::vector<double>& usual_switches,
                          const std::vector<double>& usual_overhead, bool device_clock) {
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const BurstResult& burst = round[i];
    if (!(burst.seconds > 0)) return fmt::format("{}: no time", slots[i].contestant);
    if (device_clock) continue;
    double allowed = std::max(static_cast<double>(kFewSwitches), kSwitchesPerSecond * burst.wall);
    // Threads of a library may yield to each other, which counts as involuntary. A candidate has
    // no reason to: what it suffers is the machine's.
    if (slots[i].column != 0) allowed = std::max(allowed, kUsualFactor * usual_switches[i]);
    if (static_cast<double>(burst.switches) > allowed) {
      return fmt::format("{}: {} involuntary context switches", slots[i].contestant,
                         burst.switches);
    }
    const double slack = std::max(
        {kRequestSeconds, kRequestFraction * burst.wall, kUsualFactor * usual_overhead[i]});
    if (overhead(burst) > slack) {
      return fmt::format("{}: {:.1f} ms by our clock, {:.1f} by the runner's", slots[i].contestant,
                         burst.wall * 1e3, burst.claimed * 1e3);
    }
  }
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (!slots[i].self) continue;
    const double ratio = round[i].seconds / round[0].seconds;
    if (ratio > kSelfFactor || ratio < 1 / kSelfFactor) {
      return fmt::format("the candidate against itself: {:.2f}", ratio);
    }
  }
  return {};
}

}  // namespace

std::vector<Slot> slots_for(const std::vector<std::string>& baselines, bool self_pair) {
  std::vector<Slot> slots = {{kCandidate, 0, false}};
  for (const std::string& name : baselines) {
    slots.push_back({name, static_cast<int>(slots.size()), false});
  }
  if (self_pair) slots.push_back({kCandidate, 0, true});
  return slots;
}

int calls_for(double seconds_per_call, const MeasureOptions& options) {
  const int most = std::max(options.max_calls, 1);
  const double gap = options.mode == Mode::server ? options.gap_mean_us * 1e-6 : 0;
  const double calls = options.burst_seconds / (seconds_per_call + gap);
  if (!(calls < most)) return most;  // a zero time as well
  const int least = options.mode == Mode::server ? options.min_calls : 1;
  return std::max(static_cast<int>(std::lround(calls)), least);
}

int whole_turns(int calls, int sets, const MeasureOptions& options) {
  const bool graphs = options.device_clock && options.mode != Mode::server;
  if (!graphs || sets <= 1 || calls < sets) return calls;
  const int turns = (calls + sets / 2) / sets;
  return turns * sets <= options.max_calls ? turns * sets : options.max_calls / sets * sets;
}

std::vector<PlannedBurst> plan_round(const std::vector<Slot>& slots, const std::vector<int>& calls,
                                     int round, int sets, int& next_set,
                                     const MeasureOptions& options) {
  const std::vector<int> there = balanced_order(slots.size(), round, options.seed);
  std::vector<int> order;
  if (options.mirrored) order.push_back(there.back());
  order.insert(order.end(), there.begin(), there.end());
  if (options.mirrored) order.insert(order.end(), there.rbegin(), there.rend());
  const bool server = options.mode == Mode::server;
  std::vector<PlannedBurst> plan;
  for (const int slot : order) {
    Burst burst;
    burst.contestant = slots[static_cast<std::size_t>(slot)].contestant;
    burst.calls = calls[static_cast<std::size_t>(slot)];
    burst.first_set = next_set;
    burst.each = server;
    burst.wall = options.mode == Mode::wall;
    burst.gap_mean_us = server ? options.gap_mean_us : 0;
    burst.settle_seconds = options.settle_seconds;
    // The same arrivals for every contestant of a round.
    burst.gap_seed = options.seed ^ (kGapStream + static_cast<std::uint64_t>(round));
    next_set = (next_set + burst.calls) % std::max(sets, 1);
    plan.push_back({slot, std::move(burst), !(options.mirrored && plan.empty())});
  }
  return plan;
}

BurstResult reduce(const TimingReply& reply) {
  BurstResult result;
  result.wall = reply.wall_seconds;
  result.claimed = reply.claimed_seconds;
  std::vector<double> seconds, latencies;
  for (const Sample& sample : reply.samples) {
    seconds.push_back(sample.seconds);
    if (sample.latency > 0) latencies.push_back(sample.latency);
    result.counted += sample.seconds * sample.calls;
    result.switches = std::max(result.switches, sample.switches);  // of the whole burst, in each
  }
  result.seconds = seconds.empty() ? 0 : median(seconds);
  result.latency = latencies.empty() ? 0 : median(latencies);
  return result;
}

BurstResult together(const BurstResult& a, const BurstResult& b) {
  BurstResult result;
  result.seconds = (a.seconds + b.seconds) / 2;
  result.latency = (a.latency + b.latency) / 2;
  result.counted = a.counted + b.counted;
  result.switches = a.switches + b.switches;
  result.wall = a.wall + b.wall;
  result.claimed = a.claimed + b.claimed;
  return result;
}

std::vector<std::string> contaminations(const std::vector<Slot>& slots,
                                        const std::vector<Round>& rounds, bool device_clock) {
  std::vector<double> usual_switches, usual_overhead;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    usual_switches.push_back(
        median(over_rounds(rounds, i, [](const BurstResult& b) { return b.switches; })));
    usual_overhead.push_back(median(over_rounds(rounds, i, overhead)));
  }
  std::vector<std::string> reasons;
  for (const Round& round : rounds) {
    reasons.push_back(contamination(slots, round, usual_switches, usual_overhead, device_clock));
  }
  return reasons;
}

Finding check_clock(const std::vector<Slot>& slots, const std::vector<Round>& rounds) {
  if (rounds.empty()) return {};
  double candidate = 0, counted = 0;
  std::vector<double> others;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const double usual = median(over_rounds(rounds, i, overhead));
    if (slots[i].column != 0) others.push_back(usual);
    if (slots[i].column != 0 || slots[i].self) continue;
    candidate = usual;
    counted = median(over_rounds(rounds, i, [](const BurstResult& b) { return b.counted; }));
  }
  const double explained =
      others.empty() ? kClockAlone : kClockFactor * std::max(median(others), 0.0) + kClockSlack;
  if (candidate <= counted || candidate <= explained) return {};
  return {Outcome::noisy, "clock",
          fmt::format("calls that took {:.3f} ms by the runner's clock left {:.3f} ms of ours "
                      "unexplained",
                      counted * 1e3, candidate * 1e3)};
}

int most_rounds(const MeasureOptions& options, int wanted) {
  return 3 * std::max({options.rounds, wanted, 1});
}

bool precise(const Timing& timing, double half_width) {
  constexpr double kNear = 1.05;  // times the least: what decides, or may in another sample
  double least = std::numeric_limits<double>::infinity();
  for (const Column& column : timing.columns | std::views::drop(1)) {
    least = std::min(least, column.ratio.mid);
  }
  return std::ranges::all_of(timing.columns | std::views::drop(1), [&](const Column& column) {
    const Interval& ratio = column.ratio;
    if (ratio.mid > kNear * least) return true;
    return ratio.high - ratio.low <= 2 * half_width * ratio.mid;
  });
}

int rounds_wanted(const std::vector<Slot>& slots, const std::vector<Round>& rounds, int wanted,
                  const MeasureOptions& options) {
  const int each = std::max(options.rounds, 1);
  if (!(options.precision > 0) || wanted >= each * (1 + kMostExtensions)) return wanted;
  const Timing so_far = conclude(slots, rounds, options);
  return precise(so_far, options.precision) ? wanted : wanted + each;
}

int least_rounds(const MeasureOptions& options) {
  return std::min(std::max(options.rounds, 1), kVerdictRounds);
}

Timing conclude(const std::vector<Slot>& slots, const std::vector<Round>& rounds,
                const MeasureOptions& options) {
  Timing timing;
  timing.mode = options.mode;
  const std::vector<std::string> reasons = contaminations(slots, rounds, options.device_clock);
  std::vector<Round> believed;
  std::string last_reason;
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    if (reasons[i].empty()) {
      believed.push_back(rounds[i]);
    } else {
      ++timing.rejected_rounds;
      last_reason = reasons[i];
    }
  }
  if (!options.device_clock) timing.finding = check_clock(slots, rounds);
  const bool few = static_cast<int>(believed.size()) < least_rounds(options) ||
                   believed.size() * kMostTriesPerRound < rounds.size();
  if (timing.finding.ok() && few) {
    timing.finding = {Outcome::noisy, "contaminated",
                      fmt::format("{} of {} rounds rejected, the last because: {}",
                                  timing.rejected_rounds, rounds.size(), last_reason)};
  }
  const auto seconds = [&](std::size_t slot) {
    return over_rounds(believed, slot, [](const BurstResult& b) { return b.seconds; });
  };
  const auto interval = [&](std::size_t slot) {
    return paired_ratio(seconds(slot), seconds(0), options.seed + slot);
  };
  for (std::size_t i = 0; i < slots.size() && !believed.empty(); ++i) {
    if (!slots[i].self) continue;
    const Interval self = interval(i);
    timing.noise = std::max({timing.noise, self.high - 1, 1 / self.low - 1});
  }
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].self) continue;
    Column column;
    column.name = slots[i].contestant;
    column.round_us =
        over_rounds(believed, i, [](const BurstResult& b) { return b.seconds * 1e6; });
    column.median_us = median(column.round_us);
    column.latency_us =
        median(over_rounds(believed, i, [](const BurstResult& b) { return b.latency * 1e6; }));
    column.spread = median_absolute_deviation(column.round_us) / column.median_us;
    column.ratio = i == 0 ? Interval{1, 1, 1} : interval(i);
    const bool verdict = timing.finding.ok() && believed.size() >= kVerdictRounds;
    column.comparison = i == 0    ? Comparison::same
                        : verdict ? compare(column.ratio, timing.noise)
                                  : Comparison::ambiguous;
    timing.columns.push_back(std::move(column));
  }
  return timing;
}

}  // namespace tilewright
