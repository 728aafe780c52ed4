// SPDX-License-Identifier: Apache-2.0
// A training run: stages in their order, each from the weights of the one before.
//
//   corpus -> pretrain -> sft -> general -> rl    and beside rl, from the same weights and for as
//                                        -> ei    many measurements, expert iteration
//
// general is CUDA-L2's stage of kernels in general (section 3 of the paper): reinforcement on the
// operations that are no products. Without tables of any it passes its weights on.
//
// A run is a folder: run.json (plan, gates, numbers), <stage>/ (log, checkpoint),
// <stage>.safetensors, and weights.safetensors, the best of them. The same call goes on with what
// is there.
#pragma once

#include "train/stage.h"

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

struct StageInfo {
  std::string_view name;
  std::string_view after;  // the stage whose weights it begins with; empty: fresh ones
  std::string_view help;
};
[[nodiscard]] std::span<const StageInfo> training_stages();
// "all" and names to stages in their order; an error lists the known ones.
[[nodiscard]] Result<std::vector<std::string>> stages_of(std::span<const std::string> words);

struct StageOutcome {
  std::string stage;
  Gate gate;
  double seconds = 0;    // of the call that finished it
  bool earlier = false;  // it was finished by an earlier call
};
struct TrainResult {
  std::vector<StageOutcome> stages;
  std::string best;  // whose weights weights.safetensors holds
};
// Stops behind a gate that failed, with an Error of code negative that holds its reason, unless
// the plan says to go on.
[[nodiscard]] Result<TrainResult> train(
    std::span<const std::string> stages, const TrainInput& input,
    const std::function<bool(std::string_view point, std::int64_t step)>& fault = {});

}  // namespace tilewright
