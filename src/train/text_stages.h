// SPDX-License-Identifier: Apache-2.0
// The stages that learn from texts: pretraining on the whole corpus, then fine-tuning on what was
// best. A sixteenth of the corpus' shapes is kept out of both, to see whether what is learned holds
// for others.
#pragma once

#include "train/assess.h"
#include "train/stage.h"

#include <memory>

namespace tilewright {

struct TextStage {
  bool best_only = false;  // fine-tuning
  LanguageModel* model = nullptr;
  Trainer* trainer = nullptr;
  const TrainInput* input = nullptr;
  const Corpus* corpus = nullptr;
};
[[nodiscard]] std::unique_ptr<TrainingStage> make_text_stage(const TextStage& what);

// Share of texts, written without the mask, that are legal programs.
[[nodiscard]] Result<double> legal_share(const LanguageModel& model, const Corpus& corpus,
                                         std::size_t texts, std::uint64_t seed);

}  // namespace tilewright
