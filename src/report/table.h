// SPDX-License-Identifier: Apache-2.0
// Cells to aligned text, Markdown or CSV. Cells may hold anything: line breaks and other control
// characters never break a table, since some cells come from a database that others wrote.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

struct TableColumn {
  enum class Align { left, right };
  std::string title;
  Align align = Align::right;
};

class Table {
 public:
  explicit Table(std::vector<TableColumn> columns) : columns_(std::move(columns)) {}
  // As many cells as columns; missing ones are empty, excess ones are dropped.
  void add(std::vector<std::string> row);
  [[nodiscard]] bool empty() const { return rows_.empty(); }

  // Two blanks between columns, a rule below the titles, no trailing blanks. Left-aligned cells are
  // cut (...) as far as needed to keep to `width`; numbers never are.
  [[nodiscard]] std::string text(std::size_t width) const;
  [[nodiscard]] std::string markdown() const;
  [[nodiscard]] std::string csv() const;  // RFC 4180, but with plain newlines

 private:
  [[nodiscard]] std::vector<std::size_t> widths(std::size_t limit) const;
  std::vector<TableColumn> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// On one line: each control character becomes a blank.
[[nodiscard]] std::string one_line(std::string_view cell);

}  // namespace tilewright
