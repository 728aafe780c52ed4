// SPDX-License-Identifier: Apache-2.0
// CSV as people and spreadsheets write it. Rows are judged one by one: a bad row is kept with its
// line number and reason, and the rows after it still count. See suite.h for what is accepted.
#include "problem/suite.h"

#include "base/text.h"
#include "problem/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

namespace tilewright {
namespace {

constexpr std::array<std::string_view, 3> kRequired = {"m", "n", "k"};
constexpr std::string_view kText = "problem";  // a column of whole texts instead of sizes
constexpr std::string_view kExample = "a header is a line such as 'm,n,k' or 'm,n,k,dtype,layout'";

// Text of unknown origin, made fit to stand in a message.
std::string shown(std::string_view text) {
  constexpr std::size_t kMost = 60;
  std::string out(text.substr(0, kMost));
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return text.size() > kMost ? out + "..." : out;
}

std::string lowered(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

// The fields of one line, trimmed; "a ""quoted"" field, with a comma" as in RFC 4180. Nothing if a
// quote is not closed on the line.
std::optional<std::vector<std::string>> split_row(std::string_view line) {
  std::vector<std::string> fields;
  while (true) {
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    std::string field;
    if (line.starts_with('"')) {
      line.remove_prefix(1);
      while (true) {
        const auto quote = line.find('"');
        if (quote == std::string_view::npos) return std::nullopt;
        field += line.substr(0, quote);
        line.remove_prefix(quote + 1);
        if (!line.starts_with('"')) break;
        field += '"';
        line.remove_prefix(1);
      }
    }
    const auto comma = line.find(',');
    field += trim(line.substr(0, comma));
    fields.push_back(std::move(field));
    if (comma == std::string_view::npos) return fields;
    line.remove_prefix(comma + 1);
  }
}

void drop_empty_tail(std::vector<std::string>& fields, std::size_t down_to) {
  while (fields.size() > down_to && fields.back().empty()) fields.pop_back();
}

bool all_empty(const std::vector<std::string>& fields) {
  return std::all_of(fields.begin(), fields.end(), [](const auto& f) { return f.empty(); });
}

class CsvReader {
 public:
  explicit CsvReader(std::string name) { suite_.name = std::move(name); }

  Result<Suite> read(std::string_view text) {
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    int line_number = 0;
    for (const auto line : split(text, '\n')) {
      ++line_number;
      const auto content = trim(line);
      if (content.empty() || content.starts_with('#')) continue;
      auto fields = split_row(content);
      if (!fields) {
        if (columns_.empty()) return header_error(line_number, "a quote is not closed");
        refuse(line_number, "a quote is not closed on its line");
        continue;
      }
      if (all_empty(*fields)) continue;  // a row of commas: a blank line from a spreadsheet
      if (columns_.empty()) {
        if (auto status = read_header(*fields, line_number); !status) {
          return tl::unexpected(status.error());
        }
      } else {
        read_row(std::move(*fields), line_number);
      }
    }
    if (columns_.empty()) {
      return fail(ErrorCode::usage, fmt::format("'{}' is empty: there is no header", suite_.name),
                  std::string(kExample));
    }
    return std::move(suite_);
  }

 private:
  [[nodiscard]] tl::unexpected<Error> header_error(int line, std::string_view what) const {
    return fail(ErrorCode::usage, fmt::format("'{}', line {}: {}", suite_.name, line, what),
                std::string(kExample));
  }

  void refuse(int line, std::string reason) { suite_.bad.push_back({line, std::move(reason)}); }

  Status read_header(std::vector<std::string> fields, int line) {
    drop_empty_tail(fields, 1);
    for (auto& field : fields) field = lowered(field);
    const bool texts = std::find(fields.begin(), fields.end(), kText) != fields.end();
    for (const auto name : kRequired) {
      if (!texts && std::find(fields.begin(), fields.end(), name) == fields.end()) {
        return header_error(line,
                            fmt::format("the header '{}' has no column '{}'",
                                        shown(fmt::format("{}", fmt::join(fields, ","))), name));
      }
    }
    for (auto field = fields.begin(); field != fields.end(); ++field) {
      if (!field->empty() && std::find(fields.begin(), field, *field) != field) {
        return header_error(line, fmt::format("the column '{}' appears twice", shown(*field)));
      }
    }
    columns_ = std::move(fields);
    return {};
  }

  void read_row(std::vector<std::string> fields, int line) {
    drop_empty_tail(fields, columns_.size());
    if (fields.size() != columns_.size()) {
      return refuse(line, fmt::format("{} fields under a header of {} columns", fields.size(),
                                      columns_.size()));
    }
    SuiteEntry entry;
    entry.line = line;
    bool has_out = false;
    std::array<std::string, 2> label;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const std::string& column = columns_[i];
      const std::string& value = fields[i];
      if (column == "model") label[0] = value;
      if (column == "layer") label[1] = value;
      if (column == kText) {
        const auto problem = parse_problem(value);
        if (!problem) return refuse(line, problem.error().message);
        entry.problem = *problem;
        has_out = true;
      }
      const auto known = problem_fields();
      if (std::find(known.begin(), known.end(), column) == known.end()) continue;
      const bool required =
          std::find(kRequired.begin(), kRequired.end(), column) != kRequired.end();
      if (value.empty() && !required) continue;  // an empty cell means the default
      has_out = has_out || column == "out";
      // Names are lower case; CSV is where people write BF16.
      if (const auto wrong = set_field(entry.problem, column, shown(lowered(value)))) {
        const auto& meant = wrong->suggestion;
        return refuse(
            line, wrong->what + (meant.empty() ? "" : fmt::format(" (did you mean '{}'?)", meant)));
      }
    }
    if (!has_out) entry.problem.out = entry.problem.in;
    entry.label = std::string(trim(fmt::format("{} {}", label[0], label[1])));
    add(std::move(entry));
  }

  void add(SuiteEntry entry) {
    const Problem& p = entry.problem;
    for (const auto& [name, value] :
         {std::pair{"m", p.m}, {"n", p.n}, {"k", p.k}, {"batch", p.batch}}) {
      if (value == 0) {
        return refuse(entry.line,
                      fmt::format("{}=0: a problem without work cannot be tuned", name));
      }
    }
    if (const auto status = check(p); !status) return refuse(entry.line, status.error().message);
    // A packed matrix may also spell out its stride.
    Problem key = p;
    if (key.lda == key.a_cols()) key.lda = 0;
    if (key.ldb == key.b_cols()) key.ldb = 0;
    if (key.ldc == key.c_cols()) key.ldc = 0;
    const auto [place, added] = seen_.emplace(to_text(key), entry.line);
    if (!added) {
      suite_.notes.push_back(
          {entry.line, fmt::format("repeats line {} ({})", place->second, place->first)});
      return;
    }
    suite_.entries.push_back(std::move(entry));
  }

  Suite suite_;
  std::vector<std::string> columns_;
  std::map<std::string, int> seen_;  // problem text to first line
};

std::string quoted(std::string_view field) {
  if (field.find_first_of(",\"#") == std::string_view::npos) return std::string(field);
  std::string out = "\"";
  for (const char c : field) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

}  // namespace

Result<Suite> parse_csv(std::string_view text, std::string name) {
  return CsvReader(std::move(name)).read(text);
}

std::string to_csv(const Suite& suite) {
  const auto is_gemm = [](const SuiteEntry& e) { return e.problem.is_gemm(); };
  if (!std::all_of(suite.entries.begin(), suite.entries.end(), is_gemm)) {
    std::string text = fmt::format("{},model\n", kText);
    for (const auto& entry : suite.entries) {
      text += fmt::format("{},{}\n", to_text(entry.problem), quoted(entry.label));
    }
    return text;
  }
  // A cell is empty where the value is the default; a column appears if some cell is not empty.
  const auto cell = [](const Problem& p, std::string_view field) -> std::string {
    Problem defaults;
    defaults.in = defaults.out = p.in;
    const bool size = std::find(kRequired.begin(), kRequired.end(), field) != kRequired.end();
    const std::string text = field_text(p, field);
    if (field == "dtype") return p.in == Problem{}.in ? "" : text;
    return !size && text == field_text(defaults, field) ? "" : text;
  };
  std::vector<std::string_view> columns;
  for (const auto field : problem_fields()) {
    if (std::find(kRequired.begin(), kRequired.end(), field) != kRequired.end() ||
        std::any_of(suite.entries.begin(), suite.entries.end(),
                    [&](const SuiteEntry& e) { return !cell(e.problem, field).empty(); })) {
      columns.push_back(field);
    }
  }
  const bool labelled = std::any_of(suite.entries.begin(), suite.entries.end(),
                                    [](const SuiteEntry& e) { return !e.label.empty(); });
  std::string text = fmt::format("{}{}\n", fmt::join(columns, ","), labelled ? ",model" : "");
  for (const auto& entry : suite.entries) {
    std::vector<std::string> cells;
    for (const auto column : columns) cells.push_back(cell(entry.problem, column));
    if (labelled) cells.push_back(quoted(entry.label));
    text += fmt::format("{}\n", fmt::join(cells, ","));
  }
  return text;
}

}  // namespace tilewright
