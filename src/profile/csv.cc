// SPDX-License-Identifier: Apache-2.0
// Implementation of csv.h.
#include "profile/csv.h"

#include <fmt/format.h>

namespace tilewright {
namespace {

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Result<std::vector<CsvRow>> read() {
    std::vector<CsvRow> rows;
    while (at_ < text_.size()) {
      if (end_of_line()) continue;  // an empty line
      CsvRow row;
      do {
        auto field = peek() == '"' ? quoted() : bare();
        if (!field) return tl::unexpected(field.error());
        row.push_back(*std::move(field));
      } while (take(','));
      if (at_ < text_.size() && !end_of_line()) {
        return fail(ErrorCode::refused,
                    fmt::format("CSV line {}: something follows a closing quote", line_));
      }
      rows.push_back(std::move(row));
    }
    return rows;
  }

 private:
  [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool end_of_line() {
    const std::string_view rest = text_.substr(at_);
    const std::size_t bytes = rest.starts_with("\r\n") ? 2 : rest.starts_with('\n') ? 1 : 0;
    at_ += bytes;
    line_ += bytes > 0 ? 1 : 0;
    return bytes > 0;
  }

  Result<std::string> bare() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != ',' && text_[at_] != '\n' &&
           !text_.substr(at_).starts_with("\r\n")) {
      if (text_[at_] == '"') {
        return fail(ErrorCode::refused, fmt::format("CSV line {}: a quote inside a field", line_));
      }
      ++at_;
    }
    return std::string(text_.substr(begin, at_ - begin));
  }

  Result<std::string> quoted() {
    const int opened = line_;
    std::string field;
    for (++at_; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '"') {
        ++at_;
        if (peek() != '"') return field;
      }
      line_ += c == '\n' ? 1 : 0;
      field += c;
    }
    return fail(ErrorCode::refused, fmt::format("CSV line {}: a quote does not close", opened));
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
};

}  // namespace

Result<std::vector<CsvRow>> parse_csv(std::string_view text) {
  return Reader(text).read();
}

std::string csv_line(const CsvRow& row) {
  std::string line;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (i > 0) line += ',';
    // A row of one empty field would be an empty line, which is none.
    const bool quote =
        row[i].find_first_of(",\"\r\n") != std::string::npos || (row.size() == 1 && row[i].empty());
    if (!quote) {
      line += row[i];
      continue;
    }
    line += '"';
    for (const char c : row[i]) line += c == '"' ? std::string("\"\"") : std::string(1, c);
    line += '"';
  }
  return line;
}

}  // namespace tilewright
