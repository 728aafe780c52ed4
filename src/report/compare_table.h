// SPDX-License-Identifier: Apache-2.0
// Our measurements beside someone's table of the same shapes: do two measurements of one library
// agree? Times of different days differ by clocks and drivers; a column that is off by a constant
// says that much, a few shapes that are off say where to look.
#pragma once

#include "base/error.h"
#include "report/suite_report.h"

#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

// A CSV of numbers with a header. Lines that start with '#' and empty ones are skipped.
struct NumberTable {
  std::string name;
  std::vector<std::string> columns;
  std::vector<std::vector<std::optional<double>>> rows;  // a cell that is no number is nothing
};
[[nodiscard]] Result<NumberTable> read_number_table(std::string_view text, std::string name);

// A column of the table and the column of ours that it is compared with.
struct ColumnMatch {
  std::string theirs;
  std::string headline, ours;  // as the CSV of a suite names them: "nn", "lt_auto"
};
// "THEIRS=HEADLINE.OURS", such as "lt_auto_nn=nn.lt_auto" or "mine=tn.wall_cublas".
[[nodiscard]] Result<ColumnMatch> parse_match(std::string_view text);
// Every column NAME_nn or NAME_tn whose NAME begins or is the name of a column of ours.
[[nodiscard]] std::vector<ColumnMatch> guess_matches(const NumberTable& table,
                                                     const SuiteReport& report);

struct TableRatio {  // ours / theirs
  ColumnMatch match;
  std::string group;  // a FLOP decade, or "all"
  int shapes = 0;
  double median = 0, least = 0, most = 0;
};
struct TableOutlier {
  ColumnMatch match;
  std::int64_t m = 0, n = 0, k = 0;
  double ours_us = 0, theirs_us = 0;
};
struct TableComparison {
  std::string table;
  std::vector<TableRatio> ratios;
  std::vector<TableOutlier> outliers;  // beyond kMostRatio or below kLeastRatio, worst first
  int unmatched = 0;                   // rows of the table that we did not measure
};
inline constexpr double kLeastRatio = 0.8, kMostRatio = 1.25;

// `keys` are the table's columns of M, N and K. The rows of `report` must be of one type: with two,
// "the" time of a shape is not told. Unknown columns are errors of code usage.
[[nodiscard]] Result<TableComparison> compare_with(const SuiteReport& report,
                                                   const NumberTable& table,
                                                   const std::vector<std::string>& keys,
                                                   const std::vector<ColumnMatch>& matches);
[[nodiscard]] std::string render_comparison(const TableComparison& comparison, Format format,
                                            const Context& context);

}  // namespace tilewright
