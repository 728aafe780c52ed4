// SPDX-License-Identifier: Apache-2.0
// Implementation of ncu_report.h.
#include "profile/ncu_report.h"

#include "base/text.h"
#include "profile/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

namespace tilewright {
namespace {

constexpr std::string_view kFirstColumn = "\"ID\",";

struct Sorted {
  std::string table;
  NcuReport report;
};

// The log's lines apart from the table's. A field of the table may span lines, and then one of them
// may look like anything; so the log ends where the table begins, but for lines that begin as log
// lines do where a row would have to.
Sorted sort_lines(std::string_view text) {
  Sorted sorted;
  bool in_table = false;
  for (std::string_view line : split(text, '\n')) {
    const std::string_view shown = trim(line);
    if (shown.starts_with("==")) {
      const auto end = shown.find("==", 2);
      const std::string_view kind = end == shown.npos ? "" : shown.substr(2, end - 2);
      const std::string rest(end == shown.npos ? "" : trim(shown.substr(end + 2)));
      if (kind == "WARNING") sorted.report.warnings.push_back(rest);
      if (kind == "ERROR") sorted.report.errors.push_back(rest);
      continue;
    }
    in_table = in_table || line.starts_with(kFirstColumn);
    if (in_table) sorted.table.append(line).append("\n");
  }
  return sorted;
}

std::size_t column(const CsvRow& header, std::string_view name) {
  return static_cast<std::size_t>(std::ranges::find(header, name) - header.begin());
}

}  // namespace

bool parse_number(std::string_view text, double& value) {
  std::string plain;
  for (const char c : trim(text)) {
    if (c != ',') plain += c;
  }
  const bool begins = !plain.empty() && (plain[0] == '-' || (plain[0] >= '0' && plain[0] <= '9'));
  if (!begins) return false;
  const auto [end, error] = std::from_chars(plain.data(), plain.data() + plain.size(), value);
  return error == std::errc() && end == plain.data() + plain.size() && std::isfinite(value);
}

Result<NcuReport> parse_ncu(std::string_view text) {
  Sorted sorted = sort_lines(text);
  auto rows = parse_csv(sorted.table);
  if (!rows) return tl::unexpected(rows.error());
  NcuReport report = std::move(sorted.report);
  if (rows->empty()) return report;
  const CsvRow& header = rows->front();
  const std::size_t name = column(header, "Kernel Name"), block = column(header, "Block Size"),
                    grid = column(header, "Grid Size");
  if (name == header.size() || column(header, "Metric Name") != header.size()) {
    return fail(ErrorCode::refused, "ncu: its table is not one of --page raw");
  }
  CsvRow units(header.size());
  for (std::size_t i = 1; i < rows->size(); ++i) {
    const CsvRow& row = (*rows)[i];
    if (row.size() != header.size()) {
      return fail(ErrorCode::refused, fmt::format("ncu: row {} has {} fields, its header {}", i + 1,
                                                  row.size(), header.size()));
    }
    if (row == header) return fail(ErrorCode::refused, "ncu: two tables in one report");
    if (row[0].empty()) {
      units = row;
      continue;
    }
    NcuKernel kernel;
    kernel.name = row[name];
    if (block < row.size()) kernel.block = row[block];
    if (grid < row.size()) kernel.grid = row[grid];
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (header[c].find("__") == std::string::npos) continue;  // a fact of the launch
      double value = 0;
      if (parse_number(row[c], value)) kernel.metrics[header[c]] = {value, units[c]};
    }
    report.kernels.push_back(std::move(kernel));
  }
  return report;
}

std::vector<std::string> parse_metric_list(std::string_view text) {
  std::set<std::string> names;
  for (const std::string_view line : split(text, '\n')) {
    const std::vector<std::string_view> parts = words(line);
    if (parts.empty() || parts[0].starts_with("==")) continue;
    if (parts[0].find("__") == std::string_view::npos) continue;
    names.emplace(parts[0]);
  }
  return {names.begin(), names.end()};
}

}  // namespace tilewright
