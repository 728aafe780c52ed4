// SPDX-License-Identifier: Apache-2.0
// Reward: a pure function of a trial.
//
// Default (POLICY section 9 of the design): u = ln(t_ref/t) - alpha*dev/bound - beta*(len/len_ref -
// 1) for an ok trial and a fixed floor otherwise, ln(t_ref/t) rounded toward 0 to a multiple of the
// noise step; then smoothing (u - mu)/sigma and clipping. `eq3` is CUDA-L2's Eq. 3 by name:
// mean(t_ref/t) - alpha*diff - beta*L.
//
// Raw scores have no lower end, so a slow correct program can score below `floor`; it is `smooth`
// that puts every failure below every correct program. An ok trial that was timed against no
// baseline counts as level with it (speed-up 1): it is right, and nothing is known of its speed.
#pragma once

#include "trial/trial.h"

#include <span>
#include <string_view>

namespace tilewright {

struct RewardOptions {
  double alpha = 0.05;  // weight of the deviation
  double beta = 0.01;   // weight of the program's length
  double floor = -1.5;  // any failed program, after smoothing
  double clip_low = -1.4, clip_high = 1.5;
  double noise_step = 0.01;  // q of the tie rule
};

// Program length in tokens; 1 for a source from outside.
[[nodiscard]] int program_length(const Trial& trial);
// u of an ok trial, before smoothing; the floor otherwise. `length_ref` > 0.
[[nodiscard]] double score(const Trial& trial, double length_ref, const RewardOptions& options);
// Eq. 3 of arXiv 2512.02551; the floor if the trial is not ok.
[[nodiscard]] double score_eq3(const Trial& trial, const RewardOptions& options);

struct Smoothing {
  double mean = 0, sigma = 1;
};
// Mean and population deviation of ok scores; sigma is at least noise_step. {0, 1} for none.
[[nodiscard]] Smoothing fit_smoothing(std::span<const double> ok_scores,
                                      const RewardOptions& options);
// (score - mean) / sigma within the clip; for a failure `floor`, or less where a caller's clip lets
// a correct program go that low.
[[nodiscard]] double smooth(double score, bool ok, const Smoothing& smoothing,
                            const RewardOptions& options);

}  // namespace tilewright
