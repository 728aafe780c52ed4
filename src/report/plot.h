// SPDX-License-Identifier: Apache-2.0
// A line chart as one SVG file: lines over powers of two, each with the band of its interval. Pure:
// the same numbers give the same bytes.
#pragma once

#include <string>
#include <vector>

namespace tilewright {

struct PlotLine {
  std::string name;
  std::vector<double> y, low, high;  // as many as Plot::x; low and high may be empty
};

struct Plot {
  std::string title, x_title, y_title;
  std::vector<double> x;  // rising, above 0
  std::vector<PlotLine> lines;
};

[[nodiscard]] std::string svg(const Plot& plot);

}  // namespace tilewright
