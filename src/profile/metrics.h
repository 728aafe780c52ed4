// SPDX-License-Identifier: Apache-2.0
// Named values, and the metrics of Nsight Compute that they are read from.
//
// Names of metrics differ between chips and versions of the tool, so a value lists several and the
// first that the tool knows is asked for; a value of which it knows none stays unknown, which is
// said and is no zero. Percentages are of the peak over the whole kernel ("elapsed"), so that idle
// SMs count, unless the metric's name says otherwise.
#pragma once

#include "profile/ncu_report.h"
#include "trial/profile.h"

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

// How the kernels of one call become one value.
enum class Fold { sum, mean /* weighted with their durations */, most, least };

struct NamedMetric {
  std::string_view name;   // "dram_pct"
  std::string_view about;  // for people: "DRAM throughput, of its peak"
  std::string_view unit;   // "%", "B", ""; after scaling
  double scale = 1;        // from the tool's base unit
  Fold fold = Fold::mean;
  std::array<std::string_view, 3> metrics{};  // by preference; unused ones are empty
};

// In the order in which tables show them; first what POLICY asks for in prompts.
[[nodiscard]] std::span<const NamedMetric> named_metrics();

// Why a warp did not issue. A value stall_<class> is the number of warps that wait for it whenever
// one issues: the classes together, "selected" with them, are the warps there are.
struct StallClass {
  std::string_view name;
  std::string_view about;
};
// Those of kStallClasses, in that order.
[[nodiscard]] std::span<const StallClass> stall_classes();

// What to ask the tool for: metric names with suffixes, of those whose names without suffix it
// knows. `known` empty: nobody could say, all of first choice.
struct MetricChoice {
  std::vector<std::string> metrics;
  std::vector<std::string> unknown;  // names of values that cannot be had
};
[[nodiscard]] MetricChoice choose_metrics(std::span<const std::string> known,
                                          std::span<const std::string> extra);

// Values of one call out of its kernels, with stall and limit named. Metrics of `extra` keep their
// own names.
[[nodiscard]] Profile profile_of(const NcuReport& report, std::span<const std::string> extra);

}  // namespace tilewright
