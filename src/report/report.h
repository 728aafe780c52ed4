// SPDX-License-Identifier: Apache-2.0
// Tables from trials: terminal, Markdown, CSV, JSON. Losses are always shown, and so are problems
// without a winner. Pure functions: the same trials give the same bytes. summary.cc computes,
// render_*.cc print, table.h lays out.
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

// Ratio statistics (t_baseline / t_ours, above 1 we win) of one baseline over one group of winners:
// a dtype such as "f16" or "bf16 out=f32", "all" of them, or a FLOP decade such as "1e9".
struct RatioSummary {
  std::string baseline, group;
  bool headline = true;  // part of "fastest"
  int problems = 0, wins = 0, losses = 0, same = 0, ambiguous = 0;
  int level = 0;   // at 0.99 or above and known to 1 % either side, or wholly above 1
  int behind = 0;  // below 0.95
  double geomean = 0, median = 0, worst = 0;
  std::string worst_problem;
  friend bool operator==(const RatioSummary&, const RatioSummary&) = default;
};

struct Summary {
  int problems = 0, trials = 0;                 // problems: with a winner or tried without one
  std::map<std::string, int> outcomes;          // by kind
  std::vector<RatioSummary> ratios;             // per baseline and dtype, "fastest" included
  std::vector<RatioSummary> decades;            // per FLOP decade, against the fastest
  std::map<std::string, std::string> programs;  // winner per problem
  std::vector<std::string> without_winner;      // problems tried that have none
};

// `winners`: one ok trial per problem; others count as no winner. `trials`: all of them, for the
// funnel. A ratio counts as a win or a loss by its recorded comparison alone; a word that is not
// known counts as ambiguous.
[[nodiscard]] Summary summarize(const std::vector<Trial>& winners,
                                const std::vector<Trial>& trials);

// What every machine-readable output says about where it came from.
using Context = std::map<std::string, std::string>;

[[nodiscard]] std::string render_winners(const std::vector<Trial>& winners, Format format,
                                         const Context& context);
[[nodiscard]] std::string render_summary(const Summary& summary, Format format,
                                         const Context& context);

}  // namespace tilewright
