// SPDX-License-Identifier: Apache-2.0
// See exemplars.h. The rule is that of CUDA-L1 (arXiv 2507.14111); its temperature is not
// published.
#include "policy/exemplars.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace tilewright {
namespace {

constexpr double kLeastSpread = 0.02;

struct Bucket {
  std::vector<std::size_t> members;
  double mean = 0, weight = 0;
};

}  // namespace

Score score_of(const Trial& trial, double reference_us) {
  if (trial.outcome != Outcome::ok || !(trial.time_us > 0)) return {};
  if (trial.speedup() > 0) return {true, std::log(trial.speedup())};
  return {true, reference_us > 0 ? std::log(reference_us / trial.time_us) : 0};
}

std::vector<std::size_t> contrastive(std::span<const double> scores, std::size_t count, Rng& rng) {
  std::map<double, Bucket> by_score;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    by_score[std::floor(scores[i] / kScoreBucket)].members.push_back(i);
  }
  std::vector<Bucket> buckets;
  double mean = 0, square = 0;
  for (auto& [at, bucket] : by_score) {
    for (const std::size_t i : bucket.members) bucket.mean += scores[i];
    bucket.mean /= static_cast<double>(bucket.members.size());
    mean += bucket.mean;
    square += bucket.mean * bucket.mean;
    buckets.push_back(std::move(bucket));
  }
  if (buckets.empty()) return {};
  mean /= static_cast<double>(buckets.size());
  square /= static_cast<double>(buckets.size());
  const double spread = std::sqrt(std::max(square - mean * mean, kLeastSpread * kLeastSpread));
  for (Bucket& bucket : buckets) bucket.weight = std::exp((bucket.mean - mean) / spread);

  std::vector<std::size_t> chosen;
  while (chosen.size() < count && !buckets.empty()) {
    const double total =
        std::accumulate(buckets.begin(), buckets.end(), 0.0,
                        [](double sum, const Bucket& b) { return sum + b.weight; });
    double draw = rng.uniform() * total;
    std::size_t at = 0;
    while (at + 1 < buckets.size() && draw >= buckets[at].weight) draw -= buckets[at++].weight;
    const std::vector<std::size_t>& members = buckets[at].members;
    chosen.push_back(members[rng.below(members.size())]);
    buckets.erase(buckets.begin() + static_cast<std::ptrdiff_t>(at));
  }
  std::ranges::sort(chosen, {}, [&](std::size_t i) { return scores[i]; });
  return chosen;
}

}  // namespace tilewright
