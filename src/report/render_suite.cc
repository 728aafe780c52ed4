// SPDX-License-Identifier: Apache-2.0
// The report of a suite as a CSV of everything, and as tables for people and machines.
#include "report/groups.h"
#include "report/render.h"
#include "report/suite_report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <set>

namespace tilewright {
namespace {

using nlohmann::json;
using Align = TableColumn::Align;

// The modes that have columns. Offline has no prefix: it is the headline. Where mode server was
// measured with other gaps too, "server_10ms" has its columns after the usual ones, as have modes
// chained and sustained where they were measured.
constexpr std::string_view kModes[] = {"offline", "wall", "server"};
constexpr std::string_view kMoreModes[] = {"chained", "sustained"};
constexpr std::string_view kServer = "server", kOtherServer = "server_";

std::vector<std::string> mode_columns(const std::vector<SuiteRow>& rows) {
  std::set<std::string> other;
  for (const SuiteRow& row : rows) {
    for (const auto& [mode, trial] : row.modes) {
      const bool more = std::ranges::find(kMoreModes, mode) != std::end(kMoreModes);
      if (mode.starts_with(kOtherServer) || more) other.insert(mode);
    }
  }
  std::vector<std::string> modes(std::begin(kModes), std::end(kModes));
  modes.insert(modes.end(), other.begin(), other.end());
  return modes;
}
std::string prefix_of(const std::string& mode) {
  return mode == kModes[0] ? std::string() : mode + "_";
}
constexpr std::array<std::string_view, 5> kVendorColumns = {"lt_auto", "lt_neighbours",
                                                            "lt_heuristic", "cublas", "torch"};

// With a vendor's library in it, a table has all five columns in their order; others follow.
std::vector<std::string> baseline_columns(const std::vector<SuiteRow>& rows) {
  std::set<std::string> names;
  for (const SuiteRow& row : rows) {
    for (const auto& [mode, trial] : row.modes) {
      for (const auto& [name, time] : trial.baselines) names.insert(short_baseline(name));
    }
  }
  std::vector<std::string> columns;
  const auto present = [&](std::string_view name) { return names.contains(std::string(name)); };
  if (rows.empty() || std::ranges::any_of(kVendorColumns, present)) {
    columns.assign(kVendorColumns.begin(), kVendorColumns.end());
    for (const std::string& column : columns) names.erase(column);
  }
  columns.insert(columns.end(), names.begin(), names.end());
  return columns;
}

std::string microseconds(std::optional<double> value) {
  return value && *value > 0 ? fmt::format("{:.3f}", *value) : std::string();
}
std::string four_digits(double value) {
  return value > 0 ? fmt::format("{:.4f}", value) : std::string();
}

std::vector<std::string> verdict_cells(const Trial* trial) {
  const auto* fastest = trial == nullptr ? nullptr : trial->fastest_baseline();
  if (fastest == nullptr) return std::vector<std::string>(4);
  const BaselineTime& time = fastest->second;
  return {four_digits(time.ratio_low), four_digits(time.ratio), four_digits(time.ratio_high),
          time.comparison};
}

const Trial* trial_in(const SuiteRow& row, const std::string& mode) {
  const auto found = row.modes.find(mode);
  return found == row.modes.end() ? nullptr : &found->second;
}

// The least latency of a headline baseline; the fastest by its device time need not be it.
std::optional<double> least_latency(const Trial& trial) {
  std::optional<double> least;
  for (const auto& [name, time] : trial.baselines) {
    if (!time.headline || !(time.latency_us > 0)) continue;
    least = std::min(least.value_or(time.latency_us), time.latency_us);
  }
  return least;
}

std::string csv_of(const SuiteReport& report) {
  const std::vector<std::string> baselines = baseline_columns(report.rows);
  std::vector<TableColumn> columns;
  for (const char* title : {"m", "n", "k", "headline", "dtype", "acc", "program", "ratio_low",
                            "ratio", "ratio_high", "verdict", "run"}) {
    columns.push_back({title});
  }
  const std::vector<std::string> modes = mode_columns(report.rows);
  for (const std::string& mode : modes) {
    const std::string prefix = prefix_of(mode);
    columns.push_back({prefix + "ours_us"});
    for (const std::string& name : baselines) columns.push_back({prefix + name + "_us"});
    if (prefix.empty()) continue;
    for (const char* title : {"ratio_low", "ratio", "ratio_high", "verdict"}) {
      columns.push_back({prefix + title});
    }
  }
  for (const std::string& mode : modes) {
    if (!mode.starts_with(kServer)) continue;
    columns.push_back({mode + "_ours_latency_us"});
    columns.push_back({mode + "_fastest_latency_us"});
  }

  Table table(std::move(columns));
  for (const SuiteRow& row : report.rows) {
    const Problem& p = row.problem;
    const Trial* offline = trial_in(row, "offline");
    std::vector<std::string> cells = {
        fmt::format("{}", p.m),
        fmt::format("{}", p.n),
        fmt::format("{}", p.k),
        row.headline,
        std::string(name_of(p.in)),
        p.acc == Accumulator::f16 ? "f16" : "f32",
        offline == nullptr ? std::string() : offline->program,
    };
    const auto append = [&](const std::vector<std::string>& more) {
      cells.insert(cells.end(), more.begin(), more.end());
    };
    append(verdict_cells(offline));
    cells.push_back(offline == nullptr ? std::string() : offline->run);
    for (const std::string& mode : modes) {
      const std::string prefix = prefix_of(mode);
      cells.push_back(microseconds(time_in(row, prefix + "ours")));
      for (const std::string& name : baselines) {
        cells.push_back(microseconds(time_in(row, prefix + name)));
      }
      if (!prefix.empty()) append(verdict_cells(trial_in(row, mode)));
    }
    for (const std::string& mode : modes) {
      if (!mode.starts_with(kServer)) continue;
      const Trial* server = trial_in(row, mode);
      cells.push_back(server == nullptr ? std::string() : microseconds(server->latency_us));
      cells.push_back(server == nullptr ? std::string() : microseconds(least_latency(*server)));
    }
    table.add(std::move(cells));
  }
  return table.csv();
}

std::vector<TableColumn> ratio_columns(std::vector<TableColumn> before) {
  for (const char* title : {"problems", "wins", "same", "ambiguous", "losses", ">= 0.99", "< 0.95",
                            "geomean", "median", "worst"}) {
    before.push_back({title});
  }
  before.push_back({"worst at", Align::left});
  return before;
}

std::vector<std::string> ratio_row(std::vector<std::string> before, const RatioSummary& r) {
  for (const int count : {r.problems, r.wins, r.same, r.ambiguous, r.losses, r.level, r.behind}) {
    before.push_back(fmt::format("{}", count));
  }
  for (const double ratio : {r.geomean, r.median, r.worst}) before.push_back(ratio_text(ratio));
  // The sizes alone: type and layout are columns.
  const std::string worst = short_problem(r.worst_problem);
  before.push_back(worst.substr(0, worst.find(' ')));
  return before;
}

// Rows of pairs become columns: one line for a headline, mode and decade.
Table vendor_table(const std::vector<VendorRatio>& vendors) {
  std::vector<std::string> pairs;
  using Key = std::array<std::string, 4>;
  std::vector<Key> keys;
  std::map<Key, std::map<std::string, const VendorRatio*>> lines;
  for (const VendorRatio& v : vendors) {
    const std::string pair = v.first + "/" + v.second;
    if (std::ranges::find(pairs, pair) == pairs.end()) pairs.push_back(pair);
    const Key key = {v.dtype, v.headline, v.mode, v.group};
    if (!lines.contains(key)) keys.push_back(key);
    lines[key][pair] = &v;
  }
  std::vector<TableColumn> columns = {{"dtype", Align::left},
                                      {"layout", Align::left},
                                      {"mode", Align::left},
                                      {"FLOP from", Align::left},
                                      {"problems"}};
  for (const std::string& pair : pairs) columns.push_back({pair});
  Table table(std::move(columns));
  for (const Key& key : keys) {
    const auto& line = lines.at(key);
    std::vector<std::string> cells(key.begin(), key.end());
    cells.push_back(fmt::format("{}", line.begin()->second->problems));
    for (const std::string& pair : pairs) {
      const auto found = line.find(pair);
      cells.push_back(found == line.end()
                          ? "-"
                          : fmt::format("{} ({}-{})", ratio_text(found->second->geomean),
                                        ratio_text(found->second->least),
                                        ratio_text(found->second->most)));
    }
    table.add(std::move(cells));
  }
  return table;
}

std::string prose(const SuiteReport& report, const Context& context, bool markdown) {
  const std::string_view bullet = markdown ? "- " : "  ";
  const auto lay_out = [&](const Table& table) {
    return (markdown ? table.markdown() : table.text(kReportWidth)) + "\n";
  };
  std::string out =
      fmt::format("{}: {} shapes, {} rows, {} trials, {} of them stand\n\n", report.suite,
                  report.shapes, report.rows.size(), report.trials, report.used.size());
  Table total(ratio_columns(
      {{"dtype", Align::left}, {"layout", Align::left}, {"mode", Align::left}, {"proven"}}));
  Table each(ratio_columns({{"dtype", Align::left},
                            {"layout", Align::left},
                            {"mode", Align::left},
                            {"against", Align::left}}));
  Table decades(ratio_columns({{"dtype", Align::left},
                               {"layout", Align::left},
                               {"mode", Align::left},
                               {"FLOP from", Align::left}}));
  std::vector<TableColumn> regime_columns = ratio_columns({{"dtype", Align::left},
                                                           {"layout", Align::left},
                                                           {"mode", Align::left},
                                                           {"regime", Align::left}});
  regime_columns.push_back({"theirs/limit"});
  regime_columns.push_back({"ours/limit"});
  Table regimes(std::move(regime_columns));
  for (const SuiteSlice& slice : report.slices) {
    for (const RegimeSummary& regime : slice.regimes) {
      std::vector<std::string> cells =
          ratio_row({slice.dtype, slice.headline, slice.mode, regime.ratio.group}, regime.ratio);
      cells.push_back(ratio_text(regime.headroom));
      cells.push_back(ratio_text(regime.left));
      regimes.add(std::move(cells));
    }
    if (slice.total) {
      total.add(ratio_row({slice.dtype, slice.headline, slice.mode,
                           fmt::format("{}/{}", slice.shapes, report.shapes)},
                          *slice.total));
    } else {
      total.add({slice.dtype, slice.headline, slice.mode,
                 fmt::format("{}/{}", slice.shapes, report.shapes), "0"});
    }
    for (const RatioSummary& one : slice.each) {
      each.add(
          ratio_row({slice.dtype, slice.headline, slice.mode, short_baseline(one.baseline)}, one));
    }
    for (const RatioSummary& decade : slice.decades) {
      decades.add(ratio_row({slice.dtype, slice.headline, slice.mode, decade.group}, decade));
    }
  }
  if (!total.empty()) {
    out +=
        "Ratios are the fastest baseline's time over ours: above 1 we are faster. "
        "\">= 0.99\" counts those whose interval is 1 % to either side at most, or wholly above "
        "1.\n\n";
    out += lay_out(total);
  }
  if (!each.empty()) out += "Against each alone:\n\n" + lay_out(each);
  if (!decades.empty()) out += "By decade, against the fastest:\n\n" + lay_out(decades);
  if (!regimes.empty()) {
    out +=
        "By what limits a shape (docs/measurement.md). The limit: a launch, and arithmetic or "
        "traffic at the rates that the device sustains.\n\n";
    out += lay_out(regimes);
  }
  if (!report.vendors.empty()) {
    out += "The library against itself, geometric mean (least-most) of times:\n\n";
    out += lay_out(vendor_table(report.vendors));
  }
  if (!report.unproven.empty()) {
    out += "Without one valid program:\n\n";
    for (const std::string& problem : report.unproven) {
      out += fmt::format("{}{}\n", bullet, one_line(short_problem(problem)));
    }
    out += '\n';
  }
  if (!context.empty()) out += "Reported with:\n\n" + context_text(context, bullet);
  while (out.ends_with("\n\n")) out.pop_back();
  return out;
}

json json_of(const RatioSummary& r) {
  return {{"group", r.group},   {"problems", r.problems}, {"wins", r.wins},
          {"losses", r.losses}, {"same", r.same},         {"ambiguous", r.ambiguous},
          {"level", r.level},   {"behind", r.behind},     {"geomean", r.geomean},
          {"median", r.median}, {"worst", r.worst},       {"worst_problem", r.worst_problem}};
}

}  // namespace

json counts_of(const SuiteReport& report) {
  return {{"shapes", report.shapes},
          {"rows", report.rows.size()},
          {"trials", report.trials},
          {"standing", report.used.size()},
          {"unproven", report.unproven}};
}

namespace {

json json_of(const SuiteReport& report, const Context& context) {
  json out = envelope("suite", context);
  out["suite"] = report.suite;
  out["counts"] = counts_of(report);
  out["slices"] = json::array();
  for (const SuiteSlice& slice : report.slices) {
    json decades = json::array();
    for (const RatioSummary& decade : slice.decades) decades.push_back(json_of(decade));
    json each = json::array();
    for (const RatioSummary& one : slice.each) {
      json row = json_of(one);
      row["baseline"] = one.baseline;
      each.push_back(std::move(row));
    }
    json regimes = json::array();
    for (const RegimeSummary& regime : slice.regimes) {
      json row = json_of(regime.ratio);
      row["baseline_over_limit"] = regime.headroom;
      row["ours_over_limit"] = regime.left;
      regimes.push_back(std::move(row));
    }
    out["slices"].push_back({{"dtype", slice.dtype},
                             {"headline", slice.headline},
                             {"mode", slice.mode},
                             {"shapes", slice.shapes},
                             {"total", slice.total ? json_of(*slice.total) : json()},
                             {"each", std::move(each)},
                             {"decades", std::move(decades)},
                             {"regimes", std::move(regimes)}});
  }
  out["vendors"] = json::array();
  for (const VendorRatio& v : report.vendors) {
    out["vendors"].push_back({{"dtype", v.dtype},
                              {"headline", v.headline},
                              {"mode", v.mode},
                              {"first", v.first},
                              {"second", v.second},
                              {"group", v.group},
                              {"problems", v.problems},
                              {"geomean", v.geomean},
                              {"median", v.median},
                              {"least", v.least},
                              {"most", v.most}});
  }
  return out;
}

}  // namespace

Result<std::string> render_suite(const SuiteReport& report, Format format, const Context& context) {
  switch (format) {
    case Format::csv:
      return csv_of(report);
    case Format::human:
    case Format::md:
      return prose(report, context, format == Format::md);
    case Format::json:
      return json_text(json_of(report, context), false);
    case Format::jsonl:
      break;
  }
  return fail(ErrorCode::usage, "--format jsonl: a suite's report is human, md, csv or json");
}

}  // namespace tilewright
