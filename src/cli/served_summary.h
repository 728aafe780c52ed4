// SPDX-License-Identifier: Apache-2.0
// The summary of `bench --served`: how the library's choices stand against a baseline, by estimate
// and by timing, each alone and with its fallback to the vendor's library.
#pragma once

#include "cli/served.h"
#include "report/report.h"

#include <optional>
#include <string>
#include <vector>

namespace tilewright {

// One timed kernel of such a bench.
struct ServedRow {
  std::string problem, from;
  bool vendor_first = false;
  double ratio = 0;        // the baseline's time over ours
  std::string comparison;  // faster | slower | same | ambiguous
};
// Nothing if the trial has no such baseline.
[[nodiscard]] std::optional<ServedRow> served_row(const Trial& trial, const ServedKernel& kernel,
                                                  const std::string& baseline);

// By each way of choosing; a kernel that both chose has a row in each.
struct ServedRows {
  std::vector<ServedRow> estimate, timed;
};
// For each way groups of rows by where kernels came from, then all of them, then all with the
// fallback: where the library calls the vendor's, it is as fast as that.
[[nodiscard]] std::string render_served(const ServedRows& rows, const std::string& baseline,
                                        Format format);

}  // namespace tilewright
