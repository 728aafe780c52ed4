// SPDX-License-Identifier: Apache-2.0
// Order statistics, a bootstrap and a four-way comparison. Tests compare the numbers with NumPy's
// and SciPy's.
#include "measure/statistics.h"

#include "base/rng.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

namespace tilewright {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kLeastNoise = 0.01;
constexpr std::array<std::string_view, 4> kComparisonNames = {"faster", "slower", "same",
                                                              "ambiguous"};

double quantile_of_sorted(std::span<const double> sorted, double q) {
  if (sorted.empty()) return kNan;
  const double at = std::clamp(q, 0.0, 1.0) * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], at - static_cast<double>(below));
}

}  // namespace

double quantile(std::span<const double> values, double q) {
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  return quantile_of_sorted(sorted, q);
}

double median(std::span<const double> values) {
  return quantile(values, 0.5);
}

double geometric_mean(std::span<const double> values) {
  if (values.empty()) return kNan;
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return std::exp(sum / static_cast<double>(values.size()));
}

double median_absolute_deviation(std::span<const double> values) {
  const double middle = median(values);
  std::vector<double> distance;
  for (const double value : values) distance.push_back(std::abs(value - middle));
  return median(distance);
}

Interval bootstrap_median(std::span<const double> ratios, double confidence, int resamples,
                          std::uint64_t seed) {
  if (ratios.empty()) return {kNan, kNan, kNan};
  Rng rng(seed);
  std::vector<double> drawn(ratios.size()), medians;
  for (int i = 0; i < std::max(resamples, 1); ++i) {
    for (double& value : drawn) value = ratios[rng.below(ratios.size())];
    std::ranges::sort(drawn);
    medians.push_back(quantile_of_sorted(drawn, 0.5));
  }
  std::ranges::sort(medians);
  const double tail = (1 - confidence) / 2;
  return {quantile_of_sorted(medians, tail), median(ratios), quantile_of_sorted(medians, 1 - tail)};
}

Interval paired_ratio(std::span<const double> theirs, std::span<const double> ours,
                      std::uint64_t seed) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < ours.size(); ++i) ratios.push_back(theirs[i] / ours[i]);
  return bootstrap_median(ratios, 0.95, 1000, seed);
}

std::string_view name_of(Comparison c) {
  return kComparisonNames[static_cast<std::size_t>(c)];
}

Comparison compare(const Interval& speedup, double noise) {
  const double upper = 1 + std::max(noise, kLeastNoise), lower = 1 / upper;
  if (speedup.low > upper) return Comparison::faster;
  if (speedup.high < lower) return Comparison::slower;
  if (speedup.low >= lower && speedup.high <= upper) return Comparison::same;
  return Comparison::ambiguous;  // NaN lands here too
}

}  // namespace tilewright
