// SPDX-License-Identifier: Apache-2.0
// The statistics of a comparison (bench.h).
#include "base/rng.h"
#include "replay/bench.h"

#include <algorithm>
#include <cmath>

namespace tilewright {
namespace {

// By linear interpolation between order statistics.
double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const double at = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (at - static_cast<double>(below)) * (values[above] - values[below]);
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

ScoreInterval interval_of(double value, const std::vector<double>& resampled) {
  return {value, quantile(resampled, 0.025), quantile(resampled, 0.975)};
}

// Which shapes a resample holds, and which seeds of each.
struct Draw {
  std::vector<std::size_t> shapes;
  std::vector<std::vector<std::size_t>> seeds;
};

std::vector<Draw> draws_of(std::size_t shapes, std::size_t seeds, int resamples,
                           std::uint64_t seed) {
  std::vector<Draw> draws(static_cast<std::size_t>(resamples));
  for (std::size_t r = 0; r < draws.size(); ++r) {
    Rng rng(seed, r);
    for (std::size_t i = 0; i < shapes; ++i) {
      draws[r].shapes.push_back(rng.below(shapes));
      std::vector<std::size_t> of(seeds);
      for (std::size_t& s : of) s = rng.below(seeds);
      draws[r].seeds.push_back(std::move(of));
    }
  }
  return draws;
}

// Of values[shape][seed], the mean over a draw.
double mean_of(const std::vector<std::vector<double>>& values, const Draw& draw) {
  double sum = 0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < draw.shapes.size(); ++i) {
    for (const std::size_t seed : draw.seeds[i]) {
      sum += values[draw.shapes[i]][seed];
      ++count;
    }
  }
  return sum / static_cast<double>(count);
}

std::vector<double> over_seeds(const std::vector<std::vector<double>>& values) {
  std::vector<double> out;
  for (const auto& seeds : values) out.push_back(mean_of(seeds));
  return out;
}

ScoreInterval resampled(const std::vector<std::vector<double>>& values,
                        const std::vector<Draw>& draws) {
  std::vector<double> means;
  means.reserve(draws.size());
  for (const Draw& draw : draws) means.push_back(mean_of(values, draw));
  return interval_of(mean_of(over_seeds(values)), means);
}

}  // namespace

std::vector<PolicyScore> score(const Qualities& qualities, std::size_t reference, int resamples,
                               std::uint64_t seed) {
  std::vector<PolicyScore> scores(qualities.size());
  if (qualities.empty() || qualities.front().empty()) return scores;
  const std::size_t shapes = qualities.front().size(), seeds = qualities.front().front().size();
  const std::size_t budgets = qualities.front().front().front().size();
  const std::vector<Draw> draws = draws_of(shapes, seeds, resamples, seed);

  using Values = std::vector<std::vector<double>>;  // by shape and seed
  std::vector<Values> areas(qualities.size(), Values(shapes, std::vector<double>(seeds)));
  for (std::size_t p = 0; p < qualities.size(); ++p) {
    for (std::size_t i = 0; i < shapes; ++i) {
      for (std::size_t s = 0; s < seeds; ++s) areas[p][i][s] = area(qualities[p][i][s]);
    }
  }
  const std::vector<double> of_reference = over_seeds(areas[reference]);
  for (std::size_t p = 0; p < qualities.size(); ++p) {
    PolicyScore& out = scores[p];
    Values values(shapes, std::vector<double>(seeds));
    for (std::size_t b = 0; b < budgets; ++b) {
      for (std::size_t i = 0; i < shapes; ++i) {
        for (std::size_t s = 0; s < seeds; ++s) values[i][s] = qualities[p][i][s][b];
      }
      out.mean.push_back(resampled(values, draws));
      out.median.push_back(quantile(over_seeds(values), 0.5));
      out.fifth.push_back(quantile(over_seeds(values), 0.05));
    }
    out.area = resampled(areas[p], draws);
    out.shape_areas = over_seeds(areas[p]);
    out.area_median = quantile(out.shape_areas, 0.5);
    out.area_fifth = quantile(out.shape_areas, 0.05);
    if (p == reference) {
      out.verdict = "reference";
      continue;
    }
    for (std::size_t i = 0; i < shapes; ++i) {
      for (std::size_t s = 0; s < seeds; ++s)
        values[i][s] = areas[p][i][s] - areas[reference][i][s];
      if (out.shape_areas[i] > of_reference[i]) ++out.shapes_better;
      if (out.shape_areas[i] < of_reference[i]) ++out.shapes_worse;
    }
    out.difference = resampled(values, draws);
    out.verdict = out.difference.low > 0    ? "better"
                  : out.difference.high < 0 ? "worse"
                                            : "undecided";
  }
  return scores;
}

}  // namespace tilewright
