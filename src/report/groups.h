// SPDX-License-Identifier: Apache-2.0
// How problems are grouped in a report, and the two averages of a group.
#pragma once

#include "problem/problem.h"

#include <string>
#include <vector>

namespace tilewright {

[[nodiscard]] std::string dtype_of(const Problem& problem);  // "f16", "bf16 out=f32", "f16 acc=f16"
// floor(log10(FLOP)); -1 for an empty problem, which stands below them all.
[[nodiscard]] int decade_of(const Problem& problem);
[[nodiscard]] std::string decade_name(int decade);  // "1e9"; "0" for -1

// Of at least one value.
[[nodiscard]] double median_of(std::vector<double> values);
// The mean of ratios is geometric: of 2 and 1/2 it is 1, where the arithmetic one claims a win.
[[nodiscard]] double geomean_of(const std::vector<double>& values);

}  // namespace tilewright
