// SPDX-License-Identifier: Apache-2.0
// Binary -> Timing: paired, interleaved, balanced, checked. docs/measurement.md has the protocol.
#pragma once

#include "base/outcome.h"
#include "execute/session.h"
#include "measure/statistics.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tilewright {

// On CUDA only: wall: calls launched by the host back to back (offline there is a replayed graph);
// chained: as offline, but of a candidate that was generated for it (Form::chained), whose calls
// overlap each other's launches; sustained: as offline, but each contestant for so long at a time
// that the clock is the one that its own power leaves it.
enum class Mode { offline, hot, cold, server, wall, chained, sustained };
[[nodiscard]] std::string_view name_of(Mode mode);
// Whether programs are chosen by their times in this mode: the others show what was chosen.
[[nodiscard]] bool is_searched(Mode mode);
[[nodiscard]] std::optional<Mode> mode_from(std::string_view name);

struct MeasureOptions {
  Mode mode = Mode::offline;
  int rounds = 7;  // paired rounds, at least 5 for a verdict
  // Above 0: as many rounds again, and again, up to kMostExtensions times, until the interval of
  // the ratios that decide has this half-width at most, relative to the ratio.
  double precision = 0;
  double warm_seconds = 0;      // of bursts in turn before any counts, so that clocks have settled
  bool mirrored = false;        // each round there and back: two bursts of each contestant
  double burst_seconds = 0.02;  // length aimed at for one burst
  int max_calls = 64;           // per burst
  int min_calls = 1;            // server mode: also where they take longer than a burst should
  double settle_seconds = 0.002;  // pause before each burst, so that other teams' spinners sleep
  double gap_mean_us = 200;       // server mode
  std::uint64_t seed = 1;         // of the orders and gaps
  bool self_pair = true;          // time the candidate against itself too: the noise
  // The samples are a device's own time, which nothing on the host disturbs or can tamper with.
  bool device_clock = false;
};

inline constexpr int kMostExtensions = 3;  // of MeasureOptions::precision

// What must happen round timing so that its outputs count; verify supplies it.
struct TimedChecks {
  std::function<void()> before_round;                                // rewrite inputs
  std::function<Finding(const std::vector<int>& sets)> after_round;  // check outputs
};

struct Column {  // one contestant
  std::string name;
  double median_us = 0;   // per call
  double latency_us = 0;  // of single calls with the host's share; 0 if not measured
  double spread = 0;      // MAD / median
  // Against the candidate: t_column / t_candidate, paired by round. 1 for the candidate itself.
  Interval ratio;
  Comparison comparison = Comparison::same;
  std::vector<double> round_us;  // raw, one per accepted round
};

struct Timing {
  Finding finding;  // ok, noisy, or how the candidate ended
  Mode mode = Mode::offline;
  std::vector<Column> columns;  // candidate first, then baselines in the order asked
  double noise = 0.01;          // half-width from the self pair, at least 0.01
  int rejected_rounds = 0;      // contaminated: context switches, clock disagreement
  double seconds = 0;           // spent measuring
};

// The session must hold the candidate and every name in `baselines`.
// `sets` is how many operand sets its arena has.
[[nodiscard]] Timing measure(Session& session, int sets, const std::vector<std::string>& baselines,
                             const MeasureOptions& options, const TimedChecks& checks);

// How a mode is measured on a device. On CUDA a burst is a graph, replayed for about 20 ms; nothing
// spins beside it, so there is no pause.
[[nodiscard]] MeasureOptions options_for(const Device& device, Mode mode);
// Server mode with gaps of this mean: bursts of so many calls that all rounds have 200 of them, and
// with a device's clock 200 more for the latency.
void set_gap(MeasureOptions& options, double mean_us);
// What records call the mode: its name, and where the gaps of mode server have another mean than
// options_for() gives them "server_10ms" or "server_250us".
[[nodiscard]] std::string recorded_mode(const MeasureOptions& options, const Device& device);

// Operand sets that an arena needs in this mode, together within `byte_limit`; hot uses one. On a
// CPU offline rotates over at least four times the private caches (16 sets at most), and cold
// exceeds twice the last-level cache. On CUDA offline rotates over 32 sets, or over so many that
// they exceed 256 MiB once a set is larger than 8 MiB; cold exceeds twice the L2 cache.
[[nodiscard]] int sets_for(const Problem& problem, const Device& device, Mode mode,
                           std::int64_t byte_limit);
// Within a gibibyte on a CPU, a quarter of the memory on CUDA.
[[nodiscard]] int sets_for(const Problem& problem, const Device& device, Mode mode);

}  // namespace tilewright
