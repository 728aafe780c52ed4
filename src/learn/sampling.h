// SPDX-License-Identifier: Apache-2.0
// Writing texts by a model, whatever it is: what is asked for, what comes back, and the drawing of
// one token after another under a mask. The transformer (model.h) and its rival (ngram.h) share it.
#pragma once

#include "learn/mask.h"

#include <cstdint>
#include <span>
#include <vector>

namespace tilewright {

struct TextRequest {
  std::vector<int> prompt;  // encode(Prompt); the opening is added
  const TokenMask* mask = nullptr;
  bool analysis = false;
  std::size_t count = 1;
};

struct SampleOptions {
  double temperature = 1;
  std::uint64_t seed = 1, stream = 0;
  std::size_t batch = 0;  // texts that are written at once; 0: 64 for a thread, 1024 on a GPU
};

struct SampledText {
  std::size_t request = 0;  // index of its TextRequest
  Continuation continuation;
  // ln of the probability of each token after temperature, mask and renormalisation: 0 where
  // forced. Entropy of the same distribution, in nats.
  std::vector<double> log_probabilities, entropies;
  Program program;                               // legal
  [[nodiscard]] double log_probability() const;  // the sum
};

// A text that is being written.
class TextDraft {
 public:
  TextDraft(std::size_t request, const TextRequest& from, Rng rng);

  [[nodiscard]] std::size_t request() const { return request_; }
  [[nodiscard]] bool done() const { return state_.done(); }
  [[nodiscard]] const std::vector<int>& written() const { return text_.tokens; }
  [[nodiscard]] std::span<const int> legal() const { return mask_->legal(state_); }
  // Draws the next token from the ln probabilities of the legal ones, in their order.
  int write(std::span<const double> log_probabilities);
  // Of a text that is done.
  [[nodiscard]] Result<SampledText> finish() &&;

 private:
  std::size_t request_;
  const TokenMask* mask_;
  MaskState state_;
  Rng rng_;
  Continuation text_;
  std::vector<double> log_probabilities_, entropies_;
};

// The drafts of some requests, each with its own stream; none of a request that allows nothing.
[[nodiscard]] std::vector<TextDraft> drafts_of(std::span<const TextRequest> requests,
                                               const SampleOptions& options);
[[nodiscard]] Result<std::vector<SampledText>> finish(std::span<TextDraft> drafts);

}  // namespace tilewright
