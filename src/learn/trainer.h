// SPDX-License-Identifier: Apache-2.0
// The trainer: one model, one optimiser (AdamW, gradient norm at most 1) and two kinds of step -
// next tokens of given texts, and reinforcement of texts that the model wrote and that were scored.
//
// The same model, options and sequence of calls give the same weights, also across save() and
// load(). There is no dropout, so a step draws no random numbers.
//
// In learn/torch/, built where LibTorch is (TARGET tw_learn_torch); read model.h first.
#pragma once

#include "learn/model.h"
#include "learn/objective.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tilewright {

struct TrainOptions {
  double learning_rate = 3e-4;
  // Linear from 0 over so many steps; then constant or, with `total_steps`, a cosine down to a
  // tenth. Both count the steps since the last set_options().
  std::int64_t warmup_steps = 50, total_steps = 0;
  double weight_decay = 0.01;  // not of biases and norms
  double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8;
  double gradient_norm = 1;
  std::size_t tokens_at_once = 16384;  // of a forward pass: larger batches go in parts
};

// A text to learn from. weights[i] is the weight of tokens[i] as a thing to be predicted; the first
// token is never predicted. Loss = sum of weight * cross-entropy / sum of weights, over all words:
// so the model also learns the grammar, and the mask has little left to forbid.
struct WeightedText {
  std::vector<int> tokens;
  std::vector<float> weights;
};
// Weight `prompt` for the words of the prompt, 1 for the model's own.
[[nodiscard]] WeightedText weighted(const LearningText& text, float prompt);

struct StepReport {
  double loss = 0;  // of the step, before its update
  double gradient_norm = 0, learning_rate = 0;
  std::int64_t step = 0;      // updates so far, this one included
  std::size_t tokens = 0;     // that went through the model
  std::size_t predicted = 0;  // with a weight above 0
};

struct ScoredText {
  Continuation continuation;
  double reward = 0;
  // When it was written. Empty: by the model as it is now, and the old probabilities are those of
  // the first pass (the ratio is then exactly 1 there).
  std::vector<double> old_log_probabilities{};
  // The reward of the remarks alone, such as the gain over the best exemplar: their words then have
  // an advantage of their own. Where every text of a group has one; else `reward` is for all words.
  std::optional<double> analysis_reward{};
};
struct TextGroup {
  std::vector<int> prompt;  // without the opening
  std::vector<ScoredText> texts;
};

struct ReinforceOptions {
  AdvantageKind advantage = AdvantageKind::leave_one_out;
  Clip clip{};
  double kl_weight = 0.02;            // beta_KL; 0: the reference is not asked
  double temperature = 1;             // the one that the texts were written with
  int epochs = 2;                     // updates from the same groups
  double archive_weight = 0.1;        // lambda of the cross-entropy on the archive's best
  EntropyControl* entropy = nullptr;  // null: no entropy term; else read, and told H afterwards
};

struct ReinforceReport {
  std::vector<ObjectiveValue> epochs;  // before each update
  double archive_loss = 0;             // of the last epoch
  double gradient_norm = 0;            // of the last epoch
  double entropy_weight = 0;
  std::size_t groups = 0, flat_groups = 0, places = 0, tokens = 0;
  bool updated = false;  // false if there was nothing to learn from
};

class Trainer {
 public:
  // The model must outlive the trainer. Its present weights are the first reference.
  Trainer(LanguageModel& model, const TrainOptions& options);
  ~Trainer();
  Trainer(Trainer&&) noexcept;
  Trainer& operator=(Trainer&&) noexcept;

  [[nodiscard]] const TrainOptions& options() const;
  // For the next stage: a new rate and schedule; the moments stay unless `forget`.
  void set_options(const TrainOptions& options, bool forget = false);
  [[nodiscard]] std::int64_t steps() const;

  // One update. An error if a text is longer than the context or has weights of another length.
  [[nodiscard]] Result<StepReport> learn(std::span<const WeightedText> texts);
  // The loss and nothing else: held-out perplexity.
  [[nodiscard]] Result<StepReport> evaluate(std::span<const WeightedText> texts) const;
  // `epochs` updates on J of the groups that are not flat, and the archive's texts.
  [[nodiscard]] Result<ReinforceReport> reinforce(std::span<const TextGroup> groups,
                                                  std::span<const WeightedText> archive,
                                                  const ReinforceOptions& options);
  // pi_ref becomes the model as it is (every 10 iterations).
  void renew_reference();

  // `folder` holds model-<step>-<hash>.safetensors (as LanguageModel::save) and
  // trainer.safetensors: the moments, the reference where it differs from the model, counters, and
  // `notes` of the caller (its stage, its data's position, its generator). The second file names
  // the first and is replaced last, so a crash leaves the old checkpoint or the new one.
  [[nodiscard]] Status save(const std::filesystem::path& folder, const std::string& notes) const;
  // Into this trainer and its model, which must have the checkpoint's shape. Returns `notes`.
  [[nodiscard]] Result<std::string> load(const std::filesystem::path& folder);

  // For tests: -J + lambda * archive of the groups as the next reinforce() would begin, and its
  // gradient before clipping, in the order of LanguageModel::to_tensors().
  [[nodiscard]] Result<double> reinforce_loss(std::span<const TextGroup> groups,
                                              std::span<const WeightedText> archive,
                                              const ReinforceOptions& options,
                                              std::vector<double>* gradient) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tilewright
