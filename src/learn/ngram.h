// SPDX-License-Identifier: Apache-2.0
// The rival of the transformer on the same grammar: counted words. It tells whether attention is
// needed, or whether "what usually follows these words for a task of this kind" does as well.
//
// A word's probability given the words before it and a few words of the task is mixed from counts
// of ever longer contexts (each with the strength of its own count, after Witten and Bell), then
// masked and renormalised as the transformer's.
#pragma once

#include "learn/sampling.h"

#include <array>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace tilewright {

class NgramModel {
 public:
  // Counts the model's own words of a text, `weight` times.
  void learn(const LearningText& text, double weight = 1);
  // As LanguageModel::sample; temperature acts on the masked distribution's logarithms.
  [[nodiscard]] Result<std::vector<SampledText>> sample(std::span<const TextRequest> requests,
                                                        const SampleOptions& options) const;
  // ln of the probability of each legal word after `written` (the opening not included).
  [[nodiscard]] std::vector<double> log_probabilities(std::span<const int> prompt, bool analysis,
                                                      std::span<const int> written,
                                                      std::span<const int> legal,
                                                      double temperature) const;

 private:
  // Contexts from the shortest to the longest: the last one to three words, then with the regime,
  // the hardware and the layout, then with the sizes too.
  static constexpr std::size_t kContexts = 5;
  using Keys = std::array<std::uint64_t, kContexts>;
  struct Counts {
    double total = 0;
    std::unordered_map<int, double> words;
  };
  // What of a prompt a context holds: hashes of two sets of words.
  struct Task {
    std::uint64_t kind = 0, sizes = 0;
  };
  [[nodiscard]] static Task task_of(std::span<const int> prompt);
  [[nodiscard]] static Keys keys_of(const Task& task, int opening, std::span<const int> written);
  [[nodiscard]] double probability(const Keys& keys, int word, double uniform) const;

  std::array<std::unordered_map<std::uint64_t, Counts>, kContexts> counts_;
};

}  // namespace tilewright
