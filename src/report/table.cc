// SPDX-License-Identifier: Apache-2.0
// The layouts of a table. Widths count code points, which is right for all that we print.
#include "report/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace tilewright {
namespace {

constexpr std::string_view kGap = "  ";
constexpr std::string_view kCut = "...";
constexpr std::size_t kNarrowest = 12;  // a cell is not cut below this

bool continues(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

std::size_t width_of(std::string_view cell) {
  return static_cast<std::size_t>(
      std::ranges::count_if(cell, [](char c) { return !continues(c); }));
}

std::string cut_to(std::string cell, std::size_t width) {
  if (width_of(cell) <= width) return cell;
  std::size_t points = 0, end = 0;
  while (end < cell.size() && points + kCut.size() < width) {
    do ++end;
    while (end < cell.size() && continues(cell[end]));
    ++points;
  }
  return cell.substr(0, end).append(kCut);
}

void append_padded(std::string& out, const std::string& cell, std::size_t width,
                   TableColumn::Align align) {
  const std::string blanks(width - std::min(width, width_of(cell)), ' ');
  out += align == TableColumn::Align::left ? cell + blanks : blanks + cell;
}

void end_line(std::string& out) {
  while (out.ends_with(' ')) out.pop_back();
  out += '\n';
}

std::string markdown_cell(std::string_view cell) {
  std::string out;
  for (const char c : one_line(cell)) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

std::string csv_cell(const std::string& cell) {
  if (cell.find_first_of(",\"\r\n") == std::string::npos) return cell;
  std::string out = "\"";
  for (const char c : cell) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

}  // namespace

std::string one_line(std::string_view cell) {
  std::string out(cell);
  std::ranges::replace_if(
      out, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }, ' ');
  return out;
}

void Table::add(std::vector<std::string> row) {
  row.resize(columns_.size());
  rows_.push_back(std::move(row));
}

std::vector<std::size_t> Table::widths(std::size_t limit) const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t width = width_of(columns_[i].title);
    for (const auto& row : rows_) width = std::max(width, width_of(row[i]));
    widths.push_back(width);
  }
  const std::size_t gaps = columns_.empty() ? 0 : (columns_.size() - 1) * kGap.size();
  std::size_t total = std::accumulate(widths.begin(), widths.end(), gaps);
  // The widest text column gives way first.
  while (total > limit) {
    std::size_t* widest = nullptr;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::size_t least = std::max(kNarrowest, width_of(columns_[i].title));
      if (columns_[i].align == TableColumn::Align::right || widths[i] <= least) continue;
      if (widest == nullptr || widths[i] > *widest) widest = &widths[i];
    }
    if (widest == nullptr) break;
    --*widest;
    --total;
  }
  return widths;
}

std::string Table::text(std::size_t width) const {
  const std::vector<std::size_t> widths = this->widths(width);
  std::string out;
  const auto line = [&](const auto& cell_of) {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (i > 0) out += kGap;
      append_padded(out, cut_to(one_line(cell_of(i)), widths[i]), widths[i], columns_[i].align);
    }
    end_line(out);
  };
  line([&](std::size_t i) { return columns_[i].title; });
  line([&](std::size_t i) { return std::string(widths[i], '-'); });
  for (const auto& row : rows_) line([&](std::size_t i) { return row[i]; });
  return out;
}

std::string Table::markdown() const {
  std::string out = "|";
  for (const TableColumn& column : columns_)
    out += fmt::format(" {} |", markdown_cell(column.title));
  out += "\n|";
  for (const TableColumn& column : columns_) {
    out += column.align == TableColumn::Align::left ? " :-- |" : " --: |";
  }
  out += '\n';
  for (const auto& row : rows_) {
    out += '|';
    for (const std::string& cell : row) out += fmt::format(" {} |", markdown_cell(cell));
    out += '\n';
  }
  return out;
}

std::string Table::csv() const {
  std::string out;
  const auto line = [&](const auto& cell_of) {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (i > 0) out += ',';
      out += csv_cell(cell_of(i));
    }
    out += '\n';
  };
  line([&](std::size_t i) { return columns_[i].title; });
  for (const auto& row : rows_) line([&](std::size_t i) { return row[i]; });
  return out;
}

}  // namespace tilewright
