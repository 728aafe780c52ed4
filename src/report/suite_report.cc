// SPDX-License-Identifier: Apache-2.0
// Trials to rows, and rows to slices. See suite_report.h.
#include "report/suite_report.h"

#include "report/groups.h"
#include "report/standing.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

namespace tilewright {
namespace {

constexpr std::string_view kOffline = "offline";
constexpr std::string_view kUnit = "_us";

constexpr std::pair<std::string_view, std::string_view> kShortNames[] = {
    {"cublaslt_autotune", "lt_auto"},
    {"cublaslt_neighbours", "lt_neighbours"},
    {"cublaslt_heuristic", "lt_heuristic"},
};
constexpr std::pair<const char*, const char*> kVendorPairs[] = {
    {"cublaslt_neighbours", "cublaslt_autotune"},
    {"cublaslt_heuristic", "cublaslt_autotune"},
    {"cublas", "cublaslt_autotune"},
};

// One problem of a suite stands for all its types and layouts.
std::string shape_key(Problem problem) {
  const bool same_out = problem.out == problem.in;
  problem.a_transposed = problem.b_transposed = false;
  problem.in = ElementType::f16;
  if (same_out) problem.out = problem.in;
  problem.acc = Accumulator::f32;
  return to_text(problem);
}

// The word of an interval, as measure/statistics.h has it; reports know nothing of measuring.
const char* verdict_of(double low, double high, double noise) {
  const double band = 1 + std::max(noise, 0.01);
  if (low > band) return "faster";
  if (high < 1 / band) return "slower";
  return low >= 1 / band && high <= band ? "same" : "ambiguous";
}

struct Place {  // of a row: shape, then type
  std::size_t shape;
  std::string dtype;
  friend auto operator<=>(const Place&, const Place&) = default;
};
using ByMode = std::map<std::string, Trial>;
struct Layouts {
  Problem problem;
  ByMode nn, nt;
};

void add_rows(SuiteReport& report, const Layouts& layouts) {
  const auto add = [&](const char* headline, const ByMode& modes) {
    if (!modes.empty()) report.rows.push_back({layouts.problem, headline, modes});
  };
  add("nn", layouts.nn);
  add("tn", layouts.nt);
  ByMode best;
  for (const auto& [mode, trial] : layouts.nn) {
    const auto other = layouts.nt.find(mode);
    if (other != layouts.nt.end()) best.emplace(mode, best_of(trial, other->second));
  }
  add("best", best);
}

// Types in the order of their names, the headlines as the rows have them, offline first.
struct SliceKey {
  std::string dtype;
  int headline;
  bool other_mode;
  std::string mode;
  friend auto operator<=>(const SliceKey&, const SliceKey&) = default;
};
constexpr std::array<std::string_view, 3> kHeadlines = {"nn", "tn", "best"};

void add_vendors(SuiteReport& report, const SuiteSlice& slice, const std::vector<Trial>& trials) {
  for (const auto& [first, second] : kVendorPairs) {
    std::map<int, std::vector<double>> decades;
    std::vector<double> all;
    for (const Trial& trial : trials) {
      const auto a = trial.baselines.find(first);
      const auto b = trial.baselines.find(second);
      if (a == trial.baselines.end() || b == trial.baselines.end()) continue;
      if (!(a->second.time_us > 0) || !(b->second.time_us > 0)) continue;
      const Result<Problem> problem = parse_problem(trial.problem);
      if (!problem) continue;
      all.push_back(a->second.time_us / b->second.time_us);
      decades[decade_of(*problem)].push_back(all.back());
    }
    const auto add = [&](std::string group, const std::vector<double>& ratios) {
      report.vendors.push_back(
          {slice.dtype, slice.headline, slice.mode, short_baseline(first), short_baseline(second),
           std::move(group), static_cast<int>(ratios.size()), geomean_of(ratios), median_of(ratios),
           *std::ranges::min_element(ratios), *std::ranges::max_element(ratios)});
    };
    for (const auto& [decade, ratios] : decades) add(decade_name(decade), ratios);
    if (!all.empty()) add("all", all);
  }
}

// Shapes by regime, those with a headline baseline.
std::vector<RegimeSummary> regimes_of(const std::vector<Trial>& trials,
                                      const SustainedRates& rates) {
  struct Shapes {
    std::vector<Trial> trials;
    std::vector<double> theirs, ours;  // times over the limit
  };
  std::map<std::size_t, Shapes> groups;
  for (const Trial& trial : trials) {
    const auto* fastest = trial.fastest_baseline();
    const Result<Problem> problem = parse_problem(trial.problem);
    if (fastest == nullptr || !problem || !(trial.time_us > 0)) continue;
    const Regime regime = regime_of(*problem, rates.multiprocessors);
    const double limit = limit_us(*problem, rates);
    for (const std::size_t group : {static_cast<std::size_t>(regime), kRegimes.size()}) {
      Shapes& shapes = groups[group];
      shapes.trials.push_back(trial);
      shapes.theirs.push_back(fastest->second.time_us / limit);
      shapes.ours.push_back(trial.time_us / limit);
    }
  }
  std::vector<RegimeSummary> out;
  for (const auto& [group, shapes] : groups) {
    for (RatioSummary ratio : summarize(shapes.trials, {}).ratios) {
      if (ratio.baseline != "fastest" || ratio.group != "all") continue;
      if (group < kRegimes.size()) ratio.group = name_of(kRegimes[group]);
      out.push_back({std::move(ratio), geomean_of(shapes.theirs), geomean_of(shapes.ours)});
    }
  }
  return out;
}

void add_slices(SuiteReport& report, const std::optional<SustainedRates>& rates) {
  std::map<SliceKey, std::vector<Trial>> groups;
  for (const SuiteRow& row : report.rows) {
    const auto headline = std::ranges::find(kHeadlines, row.headline) - kHeadlines.begin();
    for (const auto& [mode, trial] : row.modes) {
      groups[{dtype_of(row.problem), static_cast<int>(headline), mode != kOffline, mode}].push_back(
          trial);
    }
  }
  for (const auto& [key, trials] : groups) {
    SuiteSlice slice{.dtype = key.dtype,
                     .headline = std::string(kHeadlines[static_cast<std::size_t>(key.headline)]),
                     .mode = key.mode,
                     .shapes = static_cast<int>(trials.size()),
                     .total = {},
                     .each = {},
                     .decades = {},
                     .regimes = {}};
    const Summary summary = summarize(trials, trials);
    for (const RatioSummary& ratio : summary.ratios) {
      if (ratio.group != "all") continue;
      if (ratio.baseline == "fastest") {
        slice.total = ratio;
      } else {
        slice.each.push_back(ratio);
      }
    }
    slice.decades = summary.decades;
    if (rates && slice.mode == kOffline) slice.regimes = regimes_of(trials, *rates);
    // Both layouts' own times; the minimum over layouts says nothing about a way of calling.
    if (slice.headline != "best") add_vendors(report, slice, trials);
    report.slices.push_back(std::move(slice));
  }
}

// Whose time is less, if both have one.
double least(double a, double b) {
  if (!(a > 0)) return b;
  return b > 0 ? std::min(a, b) : a;
}

double relative(double bound, double ratio) {
  return ratio > 0 && bound > 0 ? bound / ratio : std::nan("");
}

}  // namespace

Trial best_of(const Trial& nn, const Trial& tn) {
  const bool first = nn.time_us <= tn.time_us;
  const Trial& ours = first ? nn : tn;
  const Trial& other = first ? tn : nn;
  Trial best = ours;
  best.latency_us = least(nn.latency_us, tn.latency_us);
  for (const auto& [name, theirs] : other.baselines) {
    BaselineTime& place = best.baselines[name];
    const BaselineTime own = place;
    if (!(theirs.time_us > 0)) continue;
    if (!(own.time_us > 0) || theirs.time_us < own.time_us) {
      place = theirs;
      place.ratio = theirs.time_us / ours.time_us;
      // A side that was not measured widens nothing; an interval that is none leaves no verdict.
      double low = relative(theirs.ratio_low, theirs.ratio);
      double high = relative(theirs.ratio_high, theirs.ratio);
      if (own.time_us > 0) {
        low *= relative(own.ratio_low, own.ratio);
        high *= relative(own.ratio_high, own.ratio);
      }
      const bool known = std::isfinite(low) && std::isfinite(high);
      place.ratio_low = known ? place.ratio * low : 0;
      place.ratio_high = known ? place.ratio * high : 0;
      place.comparison =
          known ? verdict_of(place.ratio_low, place.ratio_high, std::max(nn.noise, tn.noise))
                : "ambiguous";
    }
    place.latency_us = least(own.latency_us, theirs.latency_us);
  }
  return best;
}

std::string short_baseline(const std::string& name) {
  for (const auto& [full, brief] : kShortNames) {
    if (name == full) return std::string(brief);
  }
  return name;
}

std::optional<double> time_in(const SuiteRow& row, std::string_view column) {
  if (column.ends_with(kUnit)) column.remove_suffix(kUnit.size());
  for (const auto& [mode, trial] : row.modes) {
    std::string_view name = column;
    if (mode != kOffline) {
      if (!name.starts_with(mode + "_")) continue;
      name.remove_prefix(mode.size() + 1);
    }
    if (name == "ours") return trial.time_us;
    for (const auto& [baseline, time] : trial.baselines) {
      if ((name == baseline || name == short_baseline(baseline)) && time.time_us > 0) {
        return time.time_us;
      }
    }
  }
  return std::nullopt;
}

SuiteReport suite_report(std::string name, const std::vector<Problem>& suite,
                         const std::vector<Trial>& trials,
                         const std::optional<SustainedRates>& rates) {
  SuiteReport report;
  report.suite = std::move(name);
  std::map<std::string, std::size_t> places;
  for (const Problem& problem : suite) places.emplace(shape_key(problem), places.size());
  report.shapes = static_cast<int>(places.size());

  std::vector<Trial> of_suite;
  std::set<std::string> unproven;
  for (const Trial& trial : trials) {
    const Result<Problem> problem = parse_problem(trial.problem);
    if (!problem || !places.contains(shape_key(*problem))) continue;
    of_suite.push_back(trial);
    unproven.insert(trial.problem);
  }
  report.trials = static_cast<int>(of_suite.size());
  report.used = standing_trials(of_suite);

  std::map<Place, Layouts> layouts;
  for (const Trial& trial : report.used) {
    unproven.erase(trial.problem);
    Problem problem = *parse_problem(trial.problem);  // was read above
    if (problem.a_transposed) continue;               // no headline of ours
    const bool transposed = std::exchange(problem.b_transposed, false);
    Layouts& place = layouts[{places.at(shape_key(problem)), dtype_of(problem)}];
    place.problem = problem;
    (transposed ? place.nt : place.nn).emplace(trial.mode, trial);
  }
  for (const auto& [place, both] : layouts) add_rows(report, both);
  add_slices(report, rates);
  report.unproven.assign(unproven.begin(), unproven.end());
  return report;
}

}  // namespace tilewright
