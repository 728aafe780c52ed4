// SPDX-License-Identifier: Apache-2.0
// The probability of given texts (model.h).
#include "learn/torch/places.h"
#include "learn/torch/tensors.h"
#include "learn/torch/workers.h"

#include <algorithm>
#include <numeric>

namespace tilewright {
namespace {

constexpr std::size_t kTokensAtOnce = 16384;

}  // namespace

Result<std::vector<TextScore>> LanguageModel::score(std::span<const ScoreRequest> requests,
                                                    double temperature) const {
  std::vector<TextScore> scores;
  std::vector<std::size_t> lengths;
  for (const ScoreRequest& request : requests) {
    lengths.push_back(length_of(request));
    if (const Status ok = check(request, shape()); !ok) {
      return tl::unexpected(ok.error());
    }
    const std::size_t places = request.continuation->tokens.size();
    scores.push_back({std::vector<double>(places, 0), std::vector<double>(places, 0)});
  }
  const c10::NoGradGuard no_grad;
  const std::size_t workers = workers_for(impl_->network);
  const std::size_t tokens = std::accumulate(lengths.begin(), lengths.end(), std::size_t{0});
  const std::size_t longest = lengths.empty() ? 0 : *std::ranges::max_element(lengths);
  const auto parts = in_parts(lengths, part_size(tokens, longest, workers, kTokensAtOnce));
  for_parts(parts.size(), workers, [&](std::size_t part, std::size_t) {
    const ChoicePlaces places = choice_places(requests, parts[part], impl_->network);
    if (places.where.empty()) return;
    const ChoiceValues values = values_at(places, impl_->network, temperature);
    const std::vector<double> log_p = doubles_of(values.log_probabilities);
    const std::vector<double> entropies = doubles_of(values.entropies);
    for (std::size_t i = 0; i < places.where.size(); ++i) {
      const auto& [text, place] = places.where[i];
      scores[text].log_probabilities[place] = log_p[i];
      scores[text].entropies[place] = entropies[i];
    }
  });
  return scores;
}

std::vector<double> LanguageModel::logits(std::span<const int> tokens) const {
  if (tokens.empty() || tokens.size() > static_cast<std::size_t>(shape().context)) return {};
  const c10::NoGradGuard no_grad;
  const std::vector<std::int64_t> ids(tokens.begin(), tokens.end());
  const auto count = static_cast<std::int64_t>(ids.size());
  const Network& network = impl_->network;
  const at::Tensor states = network.states(indices_of(ids, {1, count}, network), nullptr);
  return doubles_of(network.logits(states[0].slice(0, count - 1, count))[0]);
}

}  // namespace tilewright
