// SPDX-License-Identifier: Apache-2.0
// Policies against each other at equal measurements: every policy searches every table with every
// seed, and is compared shape by shape with one reference policy.
#pragma once

#include "replay/run.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tilewright {

// Which shapes are searched. What a policy may learn from is always the same: trials of shapes that
// are not held out, without the shape itself.
enum class Shapes { held_out, train, all };

struct PolicyBenchOptions {
  std::vector<std::string> policies;  // "lm", or with numbers of its own "lm:learn=0+exemplars=1"
  std::string reference = "random";
  Shapes shapes = Shapes::held_out;
  std::size_t most = 256;  // measurements
  int seeds = 10;
  std::uint64_t first_seed = 1;
  int resamples = 2000;
  int threads = 1;
  bool prior = true;  // false: no policy is told of other shapes
  Knobs knobs;
  LearnerPlace learner;  // of the policy lm
};

struct ScoreInterval {
  double value = 0, low = 0, high = 0;  // 95 %
};

struct PolicyScore {
  std::string policy;
  // By budget: the mean over shapes with its interval, and the median and the 5th percentile of
  // shapes, each shape being the mean of its seeds.
  std::vector<ScoreInterval> mean;
  std::vector<double> median, fifth;
  ScoreInterval area;
  double area_median = 0, area_fifth = 0;
  ScoreInterval difference;  // of areas, against the reference, paired
  std::string verdict;       // better | worse | undecided | reference
  int shapes_better = 0, shapes_worse = 0;
  double seconds = 0;  // of the policy itself, per search
  std::vector<double> shape_areas;
};

struct PolicyBench {
  std::vector<std::size_t> budgets;
  std::vector<const ReplayWorld*> worlds;
  std::vector<PolicyScore> scores;  // in the order of the options
  std::size_t prior_trials = 0, prior_shapes = 0;
};

// Same options, same numbers, whatever the number of threads (but for `seconds`).
[[nodiscard]] Result<PolicyBench> policy_bench(
    const std::vector<ReplayWorld>& worlds, const std::vector<Trial>& trials, const Device& device,
    const PolicyBenchOptions& options,
    const std::function<void(std::size_t done, std::size_t of)>& progress = {});

// From quality[policy][shape][seed][budget]; the reference is the policy at `reference`. Shapes are
// drawn with replacement and within them seeds, the same for both of a pair.
using Qualities = std::vector<std::vector<std::vector<std::vector<double>>>>;
[[nodiscard]] std::vector<PolicyScore> score(const Qualities& qualities, std::size_t reference,
                                             int resamples, std::uint64_t seed);

}  // namespace tilewright
