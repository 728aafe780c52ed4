// SPDX-License-Identifier: Apache-2.0
// The inside of a Trainer, shared by trainer.cc (next tokens), reinforce.cc and checkpoint.cc.
#pragma once

#include "learn/torch/adamw.h"
#include "learn/torch/network.h"
#include "learn/trainer.h"

#include <cstdint>
#include <optional>
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
// Adds scale * the mean weighted cross-entropy of the texts to the gradients (where they are on),
// in parts; the mean itself.
double text_gradients(std::span<const WeightedText> texts, const Network& network, double scale,
                      std::size_t tokens_at_once, StepReport* report);

// Gradients are recorded inside, and the network's are on.
class GradientScope {
 public:
  explicit GradientScope(Network& network) : network_(network), guard_(true) {
    network_.require_gradients(true);
  }
  ~GradientScope() { network_.require_gradients(false); }
  GradientScope(const GradientScope&) = delete;
  GradientScope& operator=(const GradientScope&) = delete;

 private:
  Network& network_;
  at::AutoGradMode guard_;
};

}  // namespace tilewright
