// SPDX-License-Identifier: Apache-2.0
// See plot.h. Lines differ in colour and in dashes, so that they can be told apart in grey.
#include "report/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace tilewright {
namespace {

constexpr double kWidth = 860, kHeight = 480;
constexpr double kLeft = 64, kRight = 190, kTop = 40, kBottom = 56;  // margins
// Okabe and Ito's palette, which colour-blind readers can tell apart.
constexpr std::array<const char*, 8> kColours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                 "#e69f00", "#56b4e9", "#000000", "#8a8a00"};
constexpr std::array<const char*, 3> kDashes = {"none", "7 3", "2 3"};

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

class Axes {
 public:
  explicit Axes(const Plot& plot) : first_(std::log2(plot.x.front())) {
    span_ = std::max(std::log2(plot.x.back()) - first_, 1e-9);
    for (const PlotLine& line : plot.lines) {
      for (const auto* values : {&line.y, &line.low, &line.high}) {
        for (const double y : *values) {
          least_ = std::min(least_, y);
          most_ = std::max(most_, y);
        }
      }
    }
    // Whole twentieths, so that grid lines have short names.
    least_ = std::floor(least_ * 20) / 20;
    most_ = std::max(std::ceil(most_ * 20) / 20, least_ + 0.05);
  }
  [[nodiscard]] double x(double value) const {
    return kLeft + (std::log2(value) - first_) / span_ * (kWidth - kLeft - kRight);
  }
  [[nodiscard]] double y(double value) const {
    return kHeight - kBottom - (value - least_) / (most_ - least_) * (kHeight - kTop - kBottom);
  }
  [[nodiscard]] double least() const { return least_; }
  [[nodiscard]] double most() const { return most_; }

 private:
  double first_, span_ = 1, least_ = 1, most_ = 1;
};

std::string points(const Axes& axes, const std::vector<double>& x, const std::vector<double>& y) {
  std::string out;
  for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
    out += fmt::format("{}{:.1f},{:.1f}", i == 0 ? "" : " ", axes.x(x[i]), axes.y(y[i]));
  }
  return out;
}

std::string grid(const Plot& plot, const Axes& axes) {
  std::string out;
  const double step = axes.most() - axes.least() > 0.5 ? 0.1 : 0.05;
  for (int i = 0;; ++i) {
    const double value = axes.least() + step * i;
    if (value > axes.most() + 1e-9) break;
    out += fmt::format(
        "<line x1=\"{0}\" y1=\"{1:.1f}\" x2=\"{2}\" y2=\"{1:.1f}\" stroke=\"#ddd\"/>"
        "<text x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\">{5:.2f}</text>\n",
        kLeft, axes.y(value), kWidth - kRight, kLeft - 8, axes.y(value) + 4, value);
  }
  for (const double x : plot.x) {
    out += fmt::format(
        "<line x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"{2}\" stroke=\"#eee\"/>"
        "<text x=\"{0:.1f}\" y=\"{3}\" text-anchor=\"middle\">{4}</text>\n",
        axes.x(x), kTop, kHeight - kBottom, kHeight - kBottom + 18, x);
  }
  return out;
}

}  // namespace

std::string svg(const Plot& plot) {
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
      "viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"#fff\"/>\n"
      "<text x=\"{2}\" y=\"24\" font-size=\"15\">{3}</text>\n",
      kWidth, kHeight, kLeft, escaped(plot.title));
  if (plot.x.empty()) return out + "</svg>\n";
  const Axes axes(plot);
  out += grid(plot, axes);
  out += fmt::format(
      "<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n"
      "<text transform=\"translate(16 {:.1f}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
      (kLeft + kWidth - kRight) / 2, kHeight - 16, escaped(plot.x_title),
      (kTop + kHeight - kBottom) / 2, escaped(plot.y_title));
  const auto colour = [](std::size_t i) { return kColours[i % kColours.size()]; };
  for (std::size_t i = 0; i < plot.lines.size(); ++i) {
    const PlotLine& line = plot.lines[i];
    if (line.low.empty() || line.high.empty()) continue;
    std::vector<double> x = plot.x, y = line.high;
    for (std::size_t j = std::min(plot.x.size(), line.low.size()); j-- > 0;) {
      x.push_back(plot.x[j]);
      y.push_back(line.low[j]);
    }
    out += fmt::format("<polygon points=\"{}\" fill=\"{}\" fill-opacity=\"0.12\"/>\n",
                       points(axes, x, y), colour(i));
  }
  for (std::size_t i = 0; i < plot.lines.size(); ++i) {
    const PlotLine& line = plot.lines[i];
    const char* dashes = kDashes[i / kColours.size() % kDashes.size()];
    const double at = kTop + 18 * static_cast<double>(i);
    out += fmt::format(
        "<polyline points=\"{0}\" fill=\"none\" stroke=\"{1}\" stroke-width=\"2\" "
        "stroke-dasharray=\"{2}\"/>\n"
        "<line x1=\"{3}\" y1=\"{4}\" x2=\"{5}\" y2=\"{4}\" stroke=\"{1}\" stroke-width=\"2\" "
        "stroke-dasharray=\"{2}\"/><text x=\"{6}\" y=\"{7}\">{8}</text>\n",
        points(axes, plot.x, line.y), colour(i), dashes, kWidth - kRight + 12, at + 6,
        kWidth - kRight + 36, kWidth - kRight + 42, at + 10, escaped(line.name));
  }
  return out + "</svg>\n";
}

}  // namespace tilewright
