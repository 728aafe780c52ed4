// SPDX-License-Identifier: Apache-2.0
// Tables from trials: terminal, Markdown, CSV, JSON. Losses are always shown.
#pragma once

#include "base/error.h"
#include "trial/trial.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

enum class Format { human, json, jsonl, csv, md };
[[nodiscard]] Result<Format> format_from(std::string_view name);

inline constexpr int kReportSchemaVersion = 1;

// Ratio statistics of one baseline over one group of winners (a dtype, a size decade).
struct RatioSummary {
  std::string baseline, group;
  int problems = 0, wins = 0, losses = 0, same = 0, ambiguous = 0;
  double geomean = 0, median = 0, worst = 0;
};

struct Summary {
  int problems = 0, trials = 0;
  std::map<std::string, int> outcomes;          // by kind
  std::vector<RatioSummary> ratios;             // per baseline and dtype, "fastest" included
  std::vector<RatioSummary> decades;            // per FLOP decade, against the fastest
  std::map<std::string, std::string> programs;  // winner per problem
};

// `winners`: one ok trial per problem. `trials`: all of them, for the funnel.
[[nodiscard]] Summary summarize(const std::vector<Trial>& winners,
                                const std::vector<Trial>& trials);

// What every machine-readable output says about where it came from.
using Context = std::map<std::string, std::string>;

[[nodiscard]] std::string render_winners(const std::vector<Trial>& winners, Format format,
                                         const Context& context);
[[nodiscard]] std::string render_summary(const Summary& summary, Format format,
                                         const Context& context);

}  // namespace tilewright
