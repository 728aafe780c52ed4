// SPDX-License-Identifier: Apache-2.0
// Comma-separated values as RFC 4180 has them: quoted fields may hold commas, line ends and doubled
// quotes. Kernel names of C++ do.
#pragma once

#include "base/error.h"

#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

using CsvRow = std::vector<std::string>;

// Rows of fields; lines end with LF or CRLF, the last may lack its end. An empty line is no row. An
// Error names the line of a quote that does not close, or that stands inside a bare field.
[[nodiscard]] Result<std::vector<CsvRow>> parse_csv(std::string_view text);

// One line without its end. Fields are quoted where they must be.
[[nodiscard]] std::string csv_line(const CsvRow& row);

}  // namespace tilewright
