// SPDX-License-Identifier: Apache-2.0
// The few statistics that measuring needs, on plain numbers.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace tilewright {

[[nodiscard]] double median(std::span<const double> values);              // NaN if empty
[[nodiscard]] double quantile(std::span<const double> values, double q);  // linear interpolation
[[nodiscard]] double geometric_mean(std::span<const double> values);
[[nodiscard]] double median_absolute_deviation(std::span<const double> values);

struct Interval {
  double low = 0, mid = 0, high = 0;
};
// Percentile bootstrap of the median of paired ratios, `resamples` draws from `seed`.
[[nodiscard]] Interval bootstrap_median(std::span<const double> ratios, double confidence = 0.95,
                                        int resamples = 1000, std::uint64_t seed = 1);

// theirs / ours, paired by round: its median with the interval of 95 %, 1,000 draws.
[[nodiscard]] Interval paired_ratio(std::span<const double> theirs, std::span<const double> ours,
                                    std::uint64_t seed);

enum class Comparison { faster, slower, same, ambiguous };
[[nodiscard]] std::string_view name_of(Comparison c);
// From the interval of the speed-up t_ref/t: faster if above 1 + noise, slower if below
// 1 / (1 + noise), same if the whole interval lies within the noise band, else ambiguous. An
// ambiguous result is never a win. `noise` is at least 0.01.
[[nodiscard]] Comparison compare(const Interval& speedup, double noise);

}  // namespace tilewright
