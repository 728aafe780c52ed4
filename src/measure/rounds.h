// SPDX-License-Identifier: Apache-2.0
// The decisions of measuring, as pure functions of numbers: what to run in a round, which rounds to
// believe, what the believed rounds say. measure.cc only talks; everything that could be argued
// about is here, where a test can argue with invented samples.
#pragma once

#include "measure/measure.h"

#include <span>
#include <string>
#include <vector>

namespace tilewright {

inline constexpr const char* kCandidate = "candidate";  // its name in a Burst

// One place in a round. The candidate has two when it is also timed against itself.
struct Slot {
  std::string contestant;
  int column = 0;     // 0 the candidate, 1 ... the baselines
  bool self = false;  // the candidate's second time
};
[[nodiscard]] std::vector<Slot> slots_for(const std::vector<std::string>& baselines,
                                          bool self_pair);

// Calls in a burst so that it lasts about options.burst_seconds, gaps included.
[[nodiscard]] int calls_for(double seconds_per_call, const MeasureOptions& options);

// The nearest multiple of `sets`, where the clock is a graph's and there are so many calls: every
// burst then begins at the same set, and its graph is captured once and not once a round.
[[nodiscard]] int whole_turns(int calls, int sets, const MeasureOptions& options);

struct PlannedBurst {
  int slot = 0;
  Burst burst;
  bool counts = true;
};
// All slots, in an order of which (seed, round) decide: a few rounds give each slot every place, as
// often as any other. options.mirrored: there and back, so that what grows or decays in a round
// cancels, behind a burst that does not count. Bursts follow one another through the sets:
// `next_set` moves on, so that no contestant finds in the cache what another has just used.
[[nodiscard]] std::vector<PlannedBurst> plan_round(const std::vector<Slot>& slots,
                                                   const std::vector<int>& calls, int round,
                                                   int sets, int& next_set,
                                                   const MeasureOptions& options);

// What one burst of one slot gave.
struct BurstResult {
  double seconds = 0;         // per call: the mean over a burst, the median over single calls
  double latency = 0;         // median over single calls with the host's share; 0 if not measured
  double counted = 0;         // all counted calls together
  std::int64_t switches = 0;  // involuntary context switches
  double wall = 0;            // the request, by our clock
  double claimed = 0;         // calls, gaps and the pause, by the runner's
};
[[nodiscard]] BurstResult reduce(const TimingReply& reply);
// Two bursts of a slot in one round, of as many calls each.
[[nodiscard]] BurstResult together(const BurstResult& a, const BurstResult& b);

using Round = std::vector<BurstResult>;  // by slot

// Why a round is not believed, or empty for each that is. Judged together, since what is usual
// for a contestant on this machine is only known from the other rounds.
// With a device's clock the host's troubles are no reason.
[[nodiscard]] std::vector<std::string> contaminations(const std::vector<Slot>& slots,
                                                      const std::vector<Round>& rounds,
                                                      bool device_clock = false);

// Noisy with rule `clock` if the candidate's time by the runner's clock is far below ours and the
// baselines', in the same process, is not.
[[nodiscard]] Finding check_clock(const std::vector<Slot>& slots, const std::vector<Round>& rounds);

[[nodiscard]] int most_rounds(const MeasureOptions& options,
                              int wanted = 0);                  // tried before giving up
[[nodiscard]] int least_rounds(const MeasureOptions& options);  // believed, else noisy

// Columns, noise and finding from all rounds; `seconds` is left to the caller.
[[nodiscard]] Timing conclude(const std::vector<Slot>& slots, const std::vector<Round>& rounds,
                              const MeasureOptions& options);

// Whether no ratio that decides has a wider interval than this: those of the fastest baseline and
// of any that is near it. Says nothing of where the intervals lie.
[[nodiscard]] bool precise(const Timing& timing, double half_width);
// How many rounds must be believed, when `wanted` are: more, where options.precision asks for it.
[[nodiscard]] int rounds_wanted(const std::vector<Slot>& slots, const std::vector<Round>& rounds,
                                int wanted, const MeasureOptions& options);

// What the protocol needs of the world. measure() fills it from a Session and the real clock, a
// test from a model.
struct World {
  std::function<TimingReply(const std::vector<Burst>& plan)> time;
  std::function<Finding()> reprepare;
  std::function<double()> now;
};
[[nodiscard]] Timing measure_in(const World& world, int sets,
                                const std::vector<std::string>& baselines,
                                const MeasureOptions& options, const TimedChecks& checks);

}  // namespace tilewright
