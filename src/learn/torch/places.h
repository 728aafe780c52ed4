// SPDX-License-Identifier: Apache-2.0
// Texts side by side in one tensor, and what the model says at their places. Sampled texts are
// judged under their masks, texts to learn from over all words. Internal to learn/torch.
//
// One function computes probabilities for score() and for the trainer, so a ratio of the two is
// exactly 1 until the weights move.
#pragma once

#include "learn/torch/network.h"
#include "learn/trainer.h"

#include <cstddef>
#include <span>
#include <vector>

namespace tilewright {

// Positions of the texts, sorted by length and cut so that no part has more than `most` tokens once
// padded (or one text).
[[nodiscard]] std::vector<std::vector<std::size_t>> in_parts(std::span<const std::size_t> lengths,
                                                             std::size_t most);

// A prompt, its opening and what was written: as long as the model must look.
[[nodiscard]] std::size_t length_of(const ScoreRequest& request);
[[nodiscard]] Status check_tokens(std::span<const int> tokens);  // all are of the vocabulary
[[nodiscard]] Status check(const ScoreRequest& request, const ModelShape& shape);
[[nodiscard]] Status check_length(std::size_t length, const ModelShape& shape);

// The places of some texts at which there was a choice.
struct ChoicePlaces {
  struct Where {
    std::size_t text, place;
  };
  std::vector<Where> where;  // text: index into the requests
  at::Tensor tokens;         // [texts, longest]
  at::Tensor before;         // flat index of the state that chooses
  at::Tensor legal, unused;  // [places, most legal]: words, and what is padding
  at::Tensor chosen;         // [places, 1]: column of the token that was written
};
[[nodiscard]] ChoicePlaces choice_places(std::span<const ScoreRequest> requests,
                                         std::span<const std::size_t> part, const Network& network);
struct ChoiceValues {
  at::Tensor log_probabilities, entropies;  // [places]
};
[[nodiscard]] ChoiceValues values_at(const ChoicePlaces& places, const Network& network,
                                     double temperature);

// Sum of weight * cross-entropy over some texts; `predicted` is told how many had a weight.
[[nodiscard]] at::Tensor weighted_loss(std::span<const WeightedText> texts,
                                       std::span<const std::size_t> part, const Network& network,
                                       std::size_t& predicted);

}  // namespace tilewright
