// SPDX-License-Identifier: Apache-2.0
// What the renderers share: the envelope of machine-readable output and how numbers are written for
// people.
#pragma once

#include "report/report.h"
#include "report/table.h"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tilewright {

inline constexpr std::size_t kReportWidth = 120;

struct SuiteReport;

// {"schema_version": ..., "kind": ..., "context": {...}}
[[nodiscard]] nlohmann::json envelope(std::string_view kind, const Context& context);
// Shapes, rows and trials of a suite's report.
[[nodiscard]] nlohmann::json counts_of(const SuiteReport& report);
// JSON text that never throws: bytes that are no UTF-8 become U+FFFD. A newline at the end.
[[nodiscard]] std::string json_text(const nlohmann::json& value, bool on_one_line);

// CSV has no place beside its rows, so each row carries the schema version (first) and the context.
[[nodiscard]] std::string csv_with_context(std::vector<std::string> titles,
                                           const std::vector<std::vector<std::string>>& rows,
                                           const Context& context);
// "key: value" lines, for people.
[[nodiscard]] std::string context_text(const Context& context, std::string_view bullet);

// A problem's text without the leading word.
[[nodiscard]] std::string short_problem(std::string_view problem);
[[nodiscard]] std::string for_people(double value);  // about four significant digits
[[nodiscard]] std::string ratio_text(double ratio);  // 1.234
// A number that reads back as the same double.
[[nodiscard]] std::string exactly(double value);

}  // namespace tilewright
