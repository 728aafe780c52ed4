// SPDX-License-Identifier: Apache-2.0
// See groups.h.
#include "report/groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tilewright {

std::string dtype_of(const Problem& problem) {
  std::string text(name_of(problem.in));
  if (problem.out != problem.in) text += fmt::format(" out={}", name_of(problem.out));
  if (problem.acc == Accumulator::f16) text += " acc=f16";
  return text;
}

int decade_of(const Problem& problem) {
  const double flop = problem.flop();
  return flop >= 1 ? static_cast<int>(std::floor(std::log10(flop))) : -1;
}

std::string decade_name(int decade) {
  return decade < 0 ? std::string("0") : fmt::format("1e{}", decade);
}

double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double geomean_of(const std::vector<double>& values) {
  double logs = 0;
  for (const double value : values) logs += std::log(value);
  return std::exp(logs / static_cast<double>(values.size()));
}

}  // namespace tilewright
