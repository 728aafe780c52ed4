// SPDX-License-Identifier: Apache-2.0
// See compare_table.h; render_comparison.cc prints.
#include "report/compare_table.h"

#include "base/text.h"
#include "report/groups.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

namespace tilewright {
namespace {

std::optional<double> number_of(std::string_view cell) {
  double value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc() || end != cell.data() + cell.size() || !std::isfinite(value)) return {};
  return value;
}

Result<std::size_t> column_of(const NumberTable& table, const std::string& name) {
  const auto found = std::ranges::find(table.columns, name);
  if (found != table.columns.end()) {
    return static_cast<std::size_t>(found - table.columns.begin());
  }
  return fail(ErrorCode::usage, fmt::format("{}: there is no column '{}'", table.name, name),
              fmt::format("its columns are {}", fmt::join(table.columns, ", ")));
}

std::set<std::string> names_of(const SuiteReport& report) {
  std::set<std::string> names;
  for (const Trial& trial : report.used) {
    for (const auto& [name, time] : trial.baselines) names.insert(short_baseline(name));
  }
  return names;
}

using Shape = std::tuple<std::int64_t, std::int64_t, std::int64_t>;

double strangeness(const TableOutlier& outlier) {
  return std::abs(std::log(outlier.ours_us / outlier.theirs_us));
}

}  // namespace

Result<NumberTable> read_number_table(std::string_view text, std::string name) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  NumberTable table;
  table.name = std::move(name);
  int number = 0;
  for (const std::string_view raw : split(text, '\n')) {
    ++number;
    const std::string_view line = trim(raw);
    if (line.empty() || line.starts_with('#')) continue;
    const auto cells = split(line, ',');
    if (table.columns.empty()) {
      for (const std::string_view cell : cells) table.columns.emplace_back(trim(cell));
      continue;
    }
    if (cells.size() != table.columns.size()) {
      return fail(ErrorCode::usage, fmt::format("{}:{}: {} cells, the header has {}", table.name,
                                                number, cells.size(), table.columns.size()));
    }
    std::vector<std::optional<double>> row;
    for (const std::string_view cell : cells) row.push_back(number_of(trim(cell)));
    table.rows.push_back(std::move(row));
  }
  if (table.columns.empty()) {
    return fail(ErrorCode::usage, fmt::format("{}: there is no header", table.name));
  }
  return table;
}

Result<ColumnMatch> parse_match(std::string_view text) {
  const std::size_t equals = text.rfind('=');
  const std::size_t dot = equals == std::string_view::npos ? equals : text.find('.', equals);
  if (dot == std::string_view::npos || equals == 0 || dot == equals + 1 || dot + 1 == text.size()) {
    return fail(ErrorCode::usage, fmt::format("--match: cannot read '{}'", text),
                "write TABLE_COLUMN=LAYOUT.COLUMN, such as lt_auto_nn=nn.lt_auto");
  }
  return ColumnMatch{std::string(text.substr(0, equals)),
                     std::string(text.substr(equals + 1, dot - equals - 1)),
                     std::string(text.substr(dot + 1))};
}

std::vector<ColumnMatch> guess_matches(const NumberTable& table, const SuiteReport& report) {
  const std::set<std::string> names = names_of(report);
  std::vector<ColumnMatch> matches;
  for (const std::string& column : table.columns) {
    for (const std::string headline : {"nn", "tn"}) {
      if (!column.ends_with("_" + headline)) continue;
      const std::string name = column.substr(0, column.size() - headline.size() - 1);
      // "lt_heur" is ours if it begins one name alone; "cublas" is a name, whatever it begins.
      std::vector<std::string> begun;
      for (const std::string& ours : names) {
        if (ours.starts_with(name)) begun.push_back(ours);
      }
      if (names.contains(name)) begun = {name};
      if (begun.size() == 1) matches.push_back({column, headline, begun.front()});
    }
  }
  return matches;
}

Result<TableComparison> compare_with(const SuiteReport& report, const NumberTable& table,
                                     const std::vector<std::string>& keys,
                                     const std::vector<ColumnMatch>& matches) {
  if (keys.size() != 3) {
    return fail(ErrorCode::usage, fmt::format("--keys: {} columns, not three", keys.size()),
                "name the table's columns of M, N and K, such as m,n,k");
  }
  std::vector<std::size_t> key_columns;
  for (const std::string& key : keys) {
    Result<std::size_t> column = column_of(table, key);
    if (!column) return tl::unexpected(column.error());
    key_columns.push_back(*column);
  }
  std::map<std::pair<Shape, std::string>, const SuiteRow*> rows;
  for (const SuiteRow& row : report.rows) {
    const Shape shape{row.problem.m, row.problem.n, row.problem.k};
    if (!rows.emplace(std::pair(shape, row.headline), &row).second) {
      return fail(ErrorCode::usage, "there are rows of several types or batches for one shape",
                  "choose with --types and --acc");
    }
  }

  TableComparison out;
  out.table = table.name;
  std::set<Shape> known;
  for (const auto& [key, row] : rows) known.insert(key.first);
  const auto shape_of = [&](const std::vector<std::optional<double>>& cells) {
    const auto size = [&](std::size_t i) {
      return static_cast<std::int64_t>(cells[key_columns[i]].value_or(0));
    };
    return Shape{size(0), size(1), size(2)};
  };
  for (const auto& cells : table.rows) out.unmatched += known.contains(shape_of(cells)) ? 0 : 1;

  for (const ColumnMatch& match : matches) {
    Result<std::size_t> column = column_of(table, match.theirs);
    if (!column) return tl::unexpected(column.error());
    std::map<int, std::vector<double>> decades;
    std::vector<double> all;
    for (const auto& cells : table.rows) {
      const Shape shape = shape_of(cells);
      const auto row = rows.find({shape, match.headline});
      const std::optional<double> theirs = cells[*column];
      if (row == rows.end() || !theirs || !(*theirs > 0)) continue;
      const std::optional<double> ours = time_in(*row->second, match.ours);
      if (!ours || !(*ours > 0)) continue;
      const double ratio = *ours / *theirs;
      all.push_back(ratio);
      decades[decade_of(row->second->problem)].push_back(ratio);
      if (ratio > kMostRatio || ratio < kLeastRatio) {
        const auto& [m, n, k] = shape;
        out.outliers.push_back({match, m, n, k, *ours, *theirs});
      }
    }
    const auto add = [&](std::string group, const std::vector<double>& ratios) {
      out.ratios.push_back({match, std::move(group), static_cast<int>(ratios.size()),
                            median_of(ratios), *std::ranges::min_element(ratios),
                            *std::ranges::max_element(ratios)});
    };
    for (const auto& [decade, ratios] : decades) add(decade_name(decade), ratios);
    if (!all.empty()) add("all", all);
  }
  std::ranges::stable_sort(out.outliers, std::ranges::greater(), strangeness);
  return out;
}

}  // namespace tilewright
