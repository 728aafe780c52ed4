// SPDX-License-Identifier: Apache-2.0
// Formats by name, the envelope, numbers as text.
#include "report/render.h"

#include "base/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace tilewright {
namespace {

constexpr std::array<std::string_view, 5> kFormatNames = {"human", "json", "jsonl", "csv", "md"};

}  // namespace

Result<Format> format_from(std::string_view name) {
  const auto found = std::ranges::find(kFormatNames, name);
  if (found != kFormatNames.end()) return static_cast<Format>(found - kFormatNames.begin());
  const std::string near = nearest_word(name, kFormatNames);
  return fail(ErrorCode::usage,
              fmt::format("format: '{}' is none of {}", name, fmt::join(kFormatNames, ", ")),
              near.empty() ? std::string() : fmt::format("did you mean '{}'?", near));
}

nlohmann::json envelope(std::string_view kind, const Context& context) {
  return {{"schema_version", kReportSchemaVersion}, {"kind", kind}, {"context", context}};
}

std::string json_text(const nlohmann::json& value, bool on_one_line) {
  return value.dump(on_one_line ? -1 : 2, ' ', false, nlohmann::json::error_handler_t::replace) +
         '\n';
}

std::string csv_with_context(std::vector<std::string> titles,
                             const std::vector<std::vector<std::string>>& rows,
                             const Context& context) {
  std::vector<TableColumn> columns{{"schema_version"}};
  for (std::string& title : titles) columns.push_back({std::move(title)});
  for (const auto& [key, value] : context) columns.push_back({"context_" + key});
  Table table(std::move(columns));
  for (const std::vector<std::string>& row : rows) {
    std::vector<std::string> cells{fmt::format("{}", kReportSchemaVersion)};
    cells.insert(cells.end(), row.begin(), row.end());
    for (const auto& [key, value] : context) cells.push_back(value);
    table.add(std::move(cells));
  }
  return table.csv();
}

std::string context_text(const Context& context, std::string_view bullet) {
  std::string out;
  for (const auto& [key, value] : context) {
    out += fmt::format("{}{}: {}\n", bullet, one_line(key), one_line(value));
  }
  return out;
}

std::string short_problem(std::string_view problem) {
  static constexpr std::string_view kWord = "gemm ";
  if (problem.starts_with(kWord)) problem.remove_prefix(kWord.size());
  return std::string(problem);
}

std::string for_people(double value) {
  return fmt::format("{:.{}f}", value, value < 10 ? 3 : value < 100 ? 2 : value < 1000 ? 1 : 0);
}

std::string ratio_text(double ratio) {
  return fmt::format("{:.3f}", ratio);
}

std::string exactly(double value) {
  return fmt::format("{}", value);
}

}  // namespace tilewright
