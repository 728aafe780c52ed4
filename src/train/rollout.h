// SPDX-License-Identifier: Apache-2.0
// The stages that measure what the model writes. Both do the same: prompts of some shapes, half of
// them with measured programs as exemplars; samples; each new program measured once; programs that
// the model did not write measured beside them for the archive. They differ in what they learn:
//
//   general, rl   rewards -> advantages -> the clipped objective (learn/objective.h)
//   ei            expert iteration, the control: fine-tuning on the best tenth of all measured
#pragma once

#include "train/stage.h"

#include <memory>

namespace tilewright {

struct RolloutStage {
  std::string_view name;
  bool reinforce = true;           // false: expert iteration
  const Worlds* worlds = nullptr;  // whose tables
  LanguageModel* model = nullptr;
  const LanguageModel* before = nullptr;  // as the stage began: what its gate compares with
  Trainer* trainer = nullptr;
  const TrainInput* input = nullptr;
};
[[nodiscard]] std::unique_ptr<TrainingStage> make_rollout_stage(const RolloutStage& what);

}  // namespace tilewright
