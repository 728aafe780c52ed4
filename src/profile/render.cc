// SPDX-License-Identifier: Apache-2.0
// Implementation of render.h.
#include "profile/render.h"

#include "profile/csv.h"
#include "profile/metrics.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

namespace tilewright {
namespace {

using nlohmann::ordered_json;

constexpr int kSchemaVersion = 1;

struct Line {
  std::string name, about, unit;
};

// Every value that a column of the pair has, in the table's order, unknown names last.
std::vector<Line> lines_of(const ProfiledPair& pair) {
  std::set<std::string> left;
  for (const ProfiledColumn& column : pair.columns) {
    for (const auto& [name, value] : column.profiled.profile.values) left.insert(name);
  }
  std::vector<Line> lines;
  const auto take = [&](std::string name, std::string_view about, std::string_view unit) {
    if (left.erase(name) > 0)
      lines.push_back({std::move(name), std::string(about), std::string(unit)});
  };
  for (const NamedMetric& named : named_metrics()) {
    take(std::string(named.name), named.about, named.unit);
  }
  for (const StallClass& stall : stall_classes()) {
    take(fmt::format("stall_{}", stall.name), fmt::format("warps waiting for {}", stall.about), "");
  }
  // Of a CPU, and metrics that the user named.
  for (const std::string& name : std::set<std::string>(left)) {
    take(name, "", name.ends_with("_pct") ? "%" : "");
  }
  return lines;
}

// "1.234 G" and the like: four digits are enough to compare.
std::string number_text(double value) {
  constexpr std::array<std::pair<double, const char*>, 4> kPrefixes = {
      {{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e4, "k"}}};
  for (const auto& [size, prefix] : kPrefixes) {
    if (std::abs(value) >= size) {
      return fmt::format("{:.4g} {}", value / (size == 1e4 ? 1e3 : size), prefix);
    }
  }
  return fmt::format("{:.4g}", value);
}

const double* value_of(const ProfiledColumn& column, const std::string& name) {
  const auto& values = column.profiled.profile.values;
  const auto found = values.find(name);
  return found == values.end() ? nullptr : &found->second;
}

std::string table_row(const std::vector<std::string>& cells, std::string_view about) {
  std::string line = fmt::format("  {:<22}", cells[0]);
  for (std::size_t i = 1; i < cells.size(); ++i) line += fmt::format(" {:>20}", cells[i]);
  if (!about.empty()) line += fmt::format("  {}", about);
  return line + "\n";
}

std::string table_of(const ProfiledPair& pair) {
  std::string text = fmt::format("{}\n  {}\n", pair.problem, pair.program);
  std::vector<std::string> head = {""}, time = {"time_us"}, stall = {"stall"}, limit = {"limit"};
  std::string notes;
  for (const ProfiledColumn& column : pair.columns) {
    const Profiled& p = column.profiled;
    head.push_back(column.contestant);
    time.push_back(p.time_us > 0 ? fmt::format("{:.2f}", p.time_us) : "?");
    stall.push_back(p.profile.stall.empty() ? "?" : p.profile.stall);
    limit.push_back(p.profile.limit.empty() ? "?" : p.profile.limit);
    if (!column.error.empty()) notes += fmt::format("  {}: {}\n", column.contestant, column.error);
    if (!p.choice.empty()) notes += fmt::format("  {}: {}\n", column.contestant, p.choice);
    if (!p.profile.kernels.empty()) {
      notes += fmt::format("  {}: {}\n", column.contestant, fmt::join(p.profile.kernels, " + "));
    }
  }
  const auto any = [](const std::vector<std::string>& cells) {
    return std::any_of(cells.begin() + 1, cells.end(),
                       [](const auto& cell) { return cell != "?"; });
  };
  text += table_row(head, "") + table_row(time, "a call, unprofiled, over all operand sets");
  if (any(limit)) text += table_row(limit, "what is busiest, or latency");
  if (any(stall)) text += table_row(stall, "why warps wait most");
  for (const Line& line : lines_of(pair)) {
    std::vector<std::string> cells = {line.name};
    for (const ProfiledColumn& column : pair.columns) {
      const double* const value = value_of(column, line.name);
      cells.push_back(value == nullptr ? "?" : number_text(*value) + line.unit);
    }
    text += table_row(cells, line.about);
  }
  const auto on_gpu = [](const ProfiledColumn& column) {
    return !column.profiled.profile.kernels.empty();
  };
  if (const auto column = std::ranges::find_if(pair.columns, on_gpu);
      column != pair.columns.end()) {
    text +=
        fmt::format("  caches: {}\n", column->profiled.flushed ? "flushed before each pass"
                                                               : "as the call before left them");
  }
  return text + notes;
}

std::string csv_of(const std::vector<ProfiledPair>& pairs) {
  std::string text = csv_line({"problem", "program", "contestant", "name", "value", "unit"}) + "\n";
  for (const ProfiledPair& pair : pairs) {
    const std::vector<Line> lines = lines_of(pair);
    for (const ProfiledColumn& column : pair.columns) {
      const auto add = [&](const std::string& name, const std::string& value,
                           const std::string& unit) {
        text += csv_line({pair.problem, pair.program, column.contestant, name, value, unit}) + "\n";
      };
      const Profiled& p = column.profiled;
      if (!column.error.empty()) add("error", column.error, "");
      if (p.time_us > 0) add("time_us", fmt::format("{}", p.time_us), "us");
      if (!p.choice.empty()) add("choice", p.choice, "");
      if (!p.profile.limit.empty()) add("limit", p.profile.limit, "");
      if (!p.profile.stall.empty()) add("stall", p.profile.stall, "");
      for (const Line& line : lines) {
        const double* const value = value_of(column, line.name);
        if (value != nullptr) add(line.name, fmt::format("{}", *value), line.unit);
      }
    }
  }
  return text;
}

ordered_json json_of(const ProfiledColumn& column) {
  const Profiled& p = column.profiled;
  ordered_json object;
  object["contestant"] = column.contestant;
  if (!column.error.empty()) object["error"] = column.error;
  if (p.time_us > 0) object["time_us"] = p.time_us;
  if (!p.choice.empty()) object["choice"] = p.choice;
  if (p.profile.tool.empty()) return object;
  object["tool"] = p.profile.tool;
  object["caches"] = p.flushed ? "flushed" : "kept";
  object["limit"] = p.profile.limit;
  object["stall"] = p.profile.stall;
  object["kernels"] = p.profile.kernels;
  object["values"] = p.profile.values;
  return object;
}

std::string json_text(const std::vector<ProfiledPair>& pairs, const std::string& device) {
  ordered_json all;
  all["schema_version"] = kSchemaVersion;
  all["device"] = device;
  all["pairs"] = ordered_json::array();
  for (const ProfiledPair& pair : pairs) {
    ordered_json object;
    object["problem"] = pair.problem;
    object["program"] = pair.program;
    object["columns"] = ordered_json::array();
    for (const ProfiledColumn& column : pair.columns) object["columns"].push_back(json_of(column));
    all["pairs"].push_back(std::move(object));
  }
  return all.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

std::optional<ProfileFormat> profile_format_from(std::string_view name) {
  if (name == "table") return ProfileFormat::table;
  if (name == "csv") return ProfileFormat::csv;
  if (name == "json") return ProfileFormat::json;
  return std::nullopt;
}

std::string render_profiles(const std::vector<ProfiledPair>& pairs, const std::string& device,
                            ProfileFormat format) {
  if (format == ProfileFormat::csv) return csv_of(pairs);
  if (format == ProfileFormat::json) return json_text(pairs, device);
  std::string text;
  for (const ProfiledPair& pair : pairs) text += (text.empty() ? "" : "\n") + table_of(pair);
  return text;
}

}  // namespace tilewright
