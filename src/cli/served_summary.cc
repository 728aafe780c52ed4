// SPDX-License-Identifier: Apache-2.0
// See served_summary.h.
#include "cli/served_summary.h"

#include "report/groups.h"
#include "report/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

namespace tilewright {
namespace {

struct Group {
  std::string name;
  std::vector<const ServedRow*> rows;
  bool fallback = false;
};

std::vector<std::string> cells_of(const Group& group) {
  std::map<std::string, int> verdicts;
  std::vector<double> ratios;
  const ServedRow* worst = nullptr;
  double least = 0;
  for (const ServedRow* row : group.rows) {
    const bool vendor = group.fallback && row->vendor_first;
    const double ratio = vendor ? 1 : row->ratio;
    ++verdicts[vendor ? "same" : row->comparison];
    ratios.push_back(ratio);
    if (worst == nullptr || ratio < least) {
      worst = row;
      least = ratio;
    }
  }
  const auto count = [&](const char* verdict) { return fmt::format("{}", verdicts[verdict]); };
  return {group.name,
          fmt::format("{}", ratios.size()),
          count("faster"),
          count("same"),
          count("ambiguous"),
          count("slower"),
          ratio_text(geomean_of(ratios)),
          ratio_text(median_of(ratios)),
          ratio_text(least),
          short_problem(worst->problem)};
}

// Groups of the rows of one way, whose names begin with `way`.
std::vector<Group> groups_of(const std::vector<ServedRow>& rows, const std::string& way) {
  std::vector<Group> groups;
  const auto add = [&](const std::string& name, bool fallback,
                       const std::function<bool(const ServedRow&)>& belongs) {
    Group group{way + name, {}, fallback};
    for (const ServedRow& row : rows) {
      if (belongs(row)) group.rows.push_back(&row);
    }
    if (!group.rows.empty()) groups.push_back(std::move(group));
  };
  std::set<std::string> origins;
  for (const ServedRow& row : rows) origins.insert(row.from);
  for (const std::string& from : origins) {
    add(from, false, [&](const ServedRow& row) { return row.from == from; });
  }
  add("all", false, [](const ServedRow&) { return true; });
  add("all, with the fallback", true, [](const ServedRow&) { return true; });
  return groups;
}

// What the fallback does, in a sentence.
std::string fallback_text(const std::vector<ServedRow>& rows, const std::string& way) {
  const auto fallbacks =
      std::ranges::count_if(rows, [](const ServedRow& row) { return row.vendor_first; });
  const auto needless = std::ranges::count_if(
      rows, [](const ServedRow& row) { return row.vendor_first && row.comparison == "faster"; });
  return fmt::format(
      "{}: of {} problems it leaves {} to the vendor's library, which count\n"
      "as 1 with the fallback; {} of those it would have been faster at itself.\n",
      way, rows.size(), fallbacks, needless);
}

}  // namespace

std::optional<ServedRow> served_row(const Trial& trial, const ServedKernel& kernel,
                                    const std::string& baseline) {
  const auto found = trial.baselines.find(baseline);
  if (found == trial.baselines.end()) return std::nullopt;
  return ServedRow{trial.problem, kernel.from, !kernel.vendor_because.empty(), found->second.ratio,
                   found->second.comparison};
}

std::string render_served(const ServedRows& rows, const std::string& baseline, Format format) {
  if (rows.estimate.empty() && rows.timed.empty()) return {};
  std::string text = fmt::format("The library's kernels against {}.\n", baseline);
  Table table({{"served by", TableColumn::Align::left},
               {"problems"},
               {"faster"},
               {"same"},
               {"ambiguous"},
               {"slower"},
               {"geomean"},
               {"median"},
               {"worst"},
               {"worst at", TableColumn::Align::left}});
  for (const auto& [way, prefix, list] : {std::tuple{"By estimate", "", &rows.estimate},
                                          std::tuple{"By timing", "timed: ", &rows.timed}}) {
    if (list->empty()) continue;
    text += fallback_text(*list, way);
    for (const Group& group : groups_of(*list, prefix)) table.add(cells_of(group));
  }
  return text + "\n" + (format == Format::md ? table.markdown() : table.text(kReportWidth));
}

}  // namespace tilewright
