// SPDX-License-Identifier: Apache-2.0
// The summary: how we stand against each baseline and where we lose, then how the trials ended.
#include "report/render.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <iterator>

namespace tilewright {
namespace {

using nlohmann::json;
using Align = TableColumn::Align;

Table table_of(const std::vector<RatioSummary>& ratios, std::string group_title) {
  Table table({{"against", Align::left},
               {std::move(group_title), Align::left},
               {"problems"},
               {"wins"},
               {"same"},
               {"ambiguous"},
               {"losses"},
               {"geomean"},
               {"median"},
               {"worst"},
               {"worst at", Align::left}});
  for (const RatioSummary& r : ratios) {
    table.add({r.baseline + (r.headline ? "" : " *"), r.group, fmt::format("{}", r.problems),
               fmt::format("{}", r.wins), fmt::format("{}", r.same), fmt::format("{}", r.ambiguous),
               fmt::format("{}", r.losses), ratio_text(r.geomean), ratio_text(r.median),
               ratio_text(r.worst), short_problem(r.worst_problem)});
  }
  return table;
}

std::string funnel(const Summary& summary) {
  std::vector<std::string> parts;
  for (const auto& [name, count] : summary.outcomes)
    parts.push_back(fmt::format("{} {}", count, name));
  return fmt::format("{} problems, {} trials{}{}\n", summary.problems, summary.trials,
                     parts.empty() ? "" : ": ", fmt::join(parts, ", "));
}

// Plain text and Markdown differ in the layout of a table and in their bullets alone.
std::string prose(const Summary& summary, const Context& context, bool markdown) {
  const std::string_view bullet = markdown ? "- " : "  ";
  const auto lay_out = [&](const Table& table) {
    return (markdown ? table.markdown() : table.text(kReportWidth)) + "\n";
  };
  std::string out = funnel(summary) + "\n";
  if (!summary.ratios.empty()) {
    out += "Ratios are the baseline's time over ours, paired: above 1 we are faster.\n\n";
    out += lay_out(table_of(summary.ratios, "dtype"));
    for (const RatioSummary& ratio : summary.ratios) {
      if (ratio.headline) continue;
      out += "* shown beside the others, no part of the fastest baseline\n\n";
      break;
    }
  }
  if (!summary.decades.empty()) out += lay_out(table_of(summary.decades, "FLOP from"));
  if (!summary.without_winner.empty()) {
    out += "Without one valid program:\n\n";
    for (const std::string& problem : summary.without_winner) {
      out += fmt::format("{}{}\n", bullet, one_line(short_problem(problem)));
    }
    out += '\n';
  }
  if (!context.empty()) out += "Measured with:\n\n" + context_text(context, bullet);
  while (out.ends_with("\n\n")) out.pop_back();
  return out;
}

json json_of(const RatioSummary& r) {
  return {{"baseline", r.baseline}, {"group", r.group},         {"headline", r.headline},
          {"problems", r.problems}, {"wins", r.wins},           {"losses", r.losses},
          {"same", r.same},         {"ambiguous", r.ambiguous}, {"geomean", r.geomean},
          {"median", r.median},     {"worst", r.worst},         {"worst_problem", r.worst_problem}};
}

json json_of(const std::vector<RatioSummary>& ratios) {
  json out = json::array();
  for (const RatioSummary& ratio : ratios) out.push_back(json_of(ratio));
  return out;
}

std::string jsonl_of(const Summary& summary, const Context& context) {
  json head = envelope("summary", context);
  head["problems"] = summary.problems;
  head["trials"] = summary.trials;
  head["outcomes"] = summary.outcomes;
  head["without_winner"] = summary.without_winner;
  std::string out = json_text(head, true);
  const auto lines = [&](const std::vector<RatioSummary>& ratios, std::string_view kind) {
    for (const RatioSummary& ratio : ratios) {
      json line = json_of(ratio);
      line["kind"] = kind;
      out += json_text(line, true);
    }
  };
  lines(summary.ratios, "ratio");
  lines(summary.decades, "decade");
  for (const auto& [problem, program] : summary.programs) {
    out += json_text({{"kind", "program"}, {"problem", problem}, {"program", program}}, true);
  }
  return out;
}

std::string csv_of(const Summary& summary, const Context& context) {
  std::vector<std::vector<std::string>> rows;
  const auto count = [](int n) { return fmt::format("{}", n); };
  rows.push_back({"total", "", "", count(summary.problems), count(summary.trials)});
  for (const auto& [name, trials] : summary.outcomes) {
    rows.push_back({"outcome", "", name, "", count(trials)});
  }
  const auto add = [&](const std::vector<RatioSummary>& ratios, const char* kind) {
    for (const RatioSummary& r : ratios) {
      rows.push_back({kind, r.baseline, r.group, count(r.problems), "", count(r.wins),
                      count(r.losses), count(r.same), count(r.ambiguous), exactly(r.geomean),
                      exactly(r.median), exactly(r.worst), r.worst_problem});
    }
  };
  add(summary.ratios, "ratio");
  add(summary.decades, "decade");
  for (const std::string& problem : summary.without_winner) {
    rows.push_back({"without_winner", "", problem});
  }
  const std::vector<std::string> titles = {
      "kind", "baseline",  "group",   "problems", "trials", "wins",         "losses",
      "same", "ambiguous", "geomean", "median",   "worst",  "worst_problem"};
  for (auto& row : rows) row.resize(titles.size());
  return csv_with_context(titles, rows, context);
}

}  // namespace

std::string render_summary(const Summary& summary, Format format, const Context& context) {
  switch (format) {
    case Format::human:
      return prose(summary, context, false);
    case Format::md:
      return prose(summary, context, true);
    case Format::csv:
      return csv_of(summary, context);
    case Format::jsonl:
      return jsonl_of(summary, context);
    case Format::json: {
      json out = envelope("summary", context);
      out["problems"] = summary.problems;
      out["trials"] = summary.trials;
      out["outcomes"] = summary.outcomes;
      out["ratios"] = json_of(summary.ratios);
      out["decades"] = json_of(summary.decades);
      out["programs"] = summary.programs;
      out["without_winner"] = summary.without_winner;
      return json_text(out, false);
    }
  }
  return {};
}

}  // namespace tilewright
