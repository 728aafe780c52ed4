// SPDX-License-Identifier: Apache-2.0
// A comparison with another table: medians per decade for people, every outlier for machines.
#include "report/compare_table.h"
#include "report/render.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace tilewright {
namespace {

using nlohmann::json;
using Align = TableColumn::Align;

constexpr std::size_t kOutliersForPeople = 40;

std::string ours_of(const ColumnMatch& match) {
  return match.headline + "." + match.ours;
}

Table ratios_of(const TableComparison& comparison) {
  Table table({{"ours", Align::left},
               {"theirs", Align::left},
               {"FLOP from", Align::left},
               {"shapes"},
               {"median"},
               {"least"},
               {"most"}});
  for (const TableRatio& r : comparison.ratios) {
    table.add({ours_of(r.match), r.match.theirs, r.group, fmt::format("{}", r.shapes),
               ratio_text(r.median), ratio_text(r.least), ratio_text(r.most)});
  }
  return table;
}

Table outliers_of(const TableComparison& comparison, std::size_t most) {
  Table table({{"ours", Align::left},
               {"theirs", Align::left},
               {"shape", Align::left},
               {"our us"},
               {"their us"},
               {"ratio"}});
  for (std::size_t i = 0; i < std::min(most, comparison.outliers.size()); ++i) {
    const TableOutlier& o = comparison.outliers[i];
    table.add({ours_of(o.match), o.match.theirs, fmt::format("{}x{}x{}", o.m, o.n, o.k),
               for_people(o.ours_us), for_people(o.theirs_us),
               ratio_text(o.ours_us / o.theirs_us)});
  }
  return table;
}

std::string prose(const TableComparison& comparison, const Context& context, bool markdown) {
  const auto lay_out = [&](const Table& table) {
    return (markdown ? table.markdown() : table.text(kReportWidth)) + "\n";
  };
  std::string out = fmt::format(
      "Beside {}: our time over theirs. {} of its rows were not measured "
      "here.\n\n",
      one_line(comparison.table), comparison.unmatched);
  if (comparison.ratios.empty()) return out + "No shape and column is in both.\n";
  out += lay_out(ratios_of(comparison));
  const std::size_t count = comparison.outliers.size();
  out += fmt::format(
      "{} above {} or below {}{}\n\n", count, kMostRatio, kLeastRatio,
      count > kOutliersForPeople
          ? fmt::format("; the {} strangest (--format csv has all):", kOutliersForPeople)
          : (count == 0 ? "" : ":"));
  if (count > 0) out += lay_out(outliers_of(comparison, kOutliersForPeople));
  out += context_text(context, markdown ? "- " : "  ");
  return out;
}

json json_of(const TableComparison& comparison, const Context& context) {
  json out = envelope("comparison", context);
  out["table"] = comparison.table;
  out["unmatched"] = comparison.unmatched;
  out["ratios"] = json::array();
  for (const TableRatio& r : comparison.ratios) {
    out["ratios"].push_back({{"ours", ours_of(r.match)},
                             {"theirs", r.match.theirs},
                             {"group", r.group},
                             {"shapes", r.shapes},
                             {"median", r.median},
                             {"least", r.least},
                             {"most", r.most}});
  }
  out["outliers"] = json::array();
  for (const TableOutlier& o : comparison.outliers) {
    out["outliers"].push_back({{"ours", ours_of(o.match)},
                               {"theirs", o.match.theirs},
                               {"m", o.m},
                               {"n", o.n},
                               {"k", o.k},
                               {"ours_us", o.ours_us},
                               {"theirs_us", o.theirs_us}});
  }
  return out;
}

}  // namespace

std::string render_comparison(const TableComparison& comparison, Format format,
                              const Context& context) {
  switch (format) {
    case Format::csv:
      return outliers_of(comparison, comparison.outliers.size()).csv();
    case Format::json:
    case Format::jsonl:
      return json_text(json_of(comparison, context), format == Format::jsonl);
    case Format::human:
    case Format::md:
      break;
  }
  return prose(comparison, context, format == Format::md);
}

}  // namespace tilewright
