// SPDX-License-Identifier: Apache-2.0
// The inside of a Trainer, shared by trainer.cc (next tokens), reinforce.cc and checkpoint.cc.
#pragma once

#include "learn/torch/adamw.h"
#include "learn/torch/network.h"
#include "learn/torch/workers.h"
#include "learn/trainer.h"

#include <cstdint>
#include <span>

namespace tilewright {

struct Trainer::Impl {
  LanguageModel::Impl* model;  // where it is does not change when a LanguageModel is moved
  TrainOptions options;
  AdamW optimiser;
  Network reference;
  bool reference_is_model = true;  // no update since it was renewed
  std::int64_t steps = 0, stage_steps = 0;

  [[nodiscard]] const Network& network() const { return model->network; }
  [[nodiscard]] double learning_rate() const;
  // Clips, moves the weights and counts; the norm. Gradients that are no numbers change nothing.
  double update();
};

[[nodiscard]] Status check_texts(std::span<const WeightedText> texts, const ModelShape& shape);
// Adds scale * the gradient of the texts' mean weighted cross-entropy; the mean itself.
double text_gradients(std::span<const WeightedText> texts, Gradients& gradients, double scale,
                      std::size_t tokens_at_once, StepReport* report);

}  // namespace tilewright
