// SPDX-License-Identifier: Apache-2.0
// What Nsight Compute's command-line program prints (--csv --page raw --print-units base), read.
//
// Lines of its own log begin with "==": progress, warnings, errors. Then comes one table: a row of
// column names, a row of units, and a row for each kernel that was profiled, in launch order. Its
// numbers may hold thousands separators; what could not be measured is "n/a" or empty.
#pragma once

#include "base/error.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

struct NcuMetric {
  double value = 0;
  std::string unit;  // "byte", "%", "nsecond"; empty for plain numbers
  friend bool operator==(const NcuMetric&, const NcuMetric&) = default;
};

struct NcuKernel {
  std::string name, block, grid;             // "(128, 1, 1)"
  std::map<std::string, NcuMetric> metrics;  // those with a finite number
};

struct NcuReport {
  std::vector<NcuKernel> kernels;
  std::vector<std::string> warnings, errors;  // without their "==WARNING== "
};

// An Error if the table is damaged: a row of another length, a second header. A text without a
// table has no kernels.
[[nodiscard]] Result<NcuReport> parse_ncu(std::string_view text);

// Names of metrics without their suffixes, out of `ncu --query-metrics`.
[[nodiscard]] std::vector<std::string> parse_metric_list(std::string_view text);

// "1,234.5" and "-3e-5" but not "(1, 1, 1)", "n/a" or "0x1".
[[nodiscard]] bool parse_number(std::string_view text, double& value);

}  // namespace tilewright
