// SPDX-License-Identifier: Apache-2.0
// Which scored programs a language model is shown beside its task: the contrast between them is
// what it can learn from, so they come from different score buckets, better buckets more often.
// Used by the policy `lm` while it searches and by the trainer, so that both write one prompt.
#pragma once

#include "base/rng.h"
#include "policy/experience.h"

#include <cstddef>
#include <span>
#include <vector>

namespace tilewright {

// ln of the speed-up over the fastest baseline. Where nothing was timed beside the program, ln of
// `reference_us` over its time; a failure has none.
struct Score {
  bool ok = false;
  double value = 0;
};
[[nodiscard]] Score score_of(const Trial& trial, double reference_us);

// Positions of up to `count` of the scores: of distinct buckets of width kScoreBucket, a bucket
// with probability ~ exp((its mean - the mean of buckets) / their deviation), uniform inside.
// Worst first, so that the best stands next to the answer.
inline constexpr double kScoreBucket = 0.12;
[[nodiscard]] std::vector<std::size_t> contrastive(std::span<const double> scores,
                                                   std::size_t count, Rng& rng);

}  // namespace tilewright
