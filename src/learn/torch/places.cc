// SPDX-License-Identifier: Apache-2.0
// See places.h.
#include "learn/torch/places.h"

#include "learn/torch/tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace tilewright {
namespace {

constexpr double kNever = -1e9;  // not -inf: 0 * -inf is no entropy

struct Rows {
  std::vector<std::int64_t> tokens;
  std::int64_t rows = 0, places = 0;
};

void put(Rows& rows, std::int64_t row, std::size_t& at, std::span<const int> tokens) {
  for (const int token : tokens) {
    rows.tokens[static_cast<std::size_t>(row * rows.places) + at++] = token;
  }
}

Rows empty_rows(std::size_t count, std::size_t longest) {
  Rows rows{.tokens = std::vector<std::int64_t>(count * longest, marks().pad),
            .rows = static_cast<std::int64_t>(count),
            .places = static_cast<std::int64_t>(longest)};
  return rows;
}

}  // namespace

std::vector<std::vector<std::size_t>> in_parts(std::span<const std::size_t> lengths,
                                               std::size_t most) {
  std::vector<std::size_t> order(lengths.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return lengths[i]; });
  std::vector<std::vector<std::size_t>> parts;
  for (const std::size_t i : order) {
    if (parts.empty() || (parts.back().size() + 1) * lengths[i] > most) parts.emplace_back();
    parts.back().push_back(i);
  }
  return parts;
}

std::size_t length_of(const ScoreRequest& request) {
  return request.prompt->size() + 1 + request.continuation->tokens.size();
}

Status check_length(std::size_t length, const ModelShape& shape) {
  if (length <= static_cast<std::size_t>(shape.context)) return {};
  return fail(ErrorCode::usage,
              fmt::format("a text of {} tokens, the model's context is {}", length, shape.context),
              "show fewer exemplars, or train a model of a longer context");
}

Status check_tokens(std::span<const int> tokens) {
  const auto words = static_cast<int>(text_words().size());
  if (std::ranges::all_of(tokens, [&](int t) { return t >= 0 && t < words; })) return {};
  return fail(ErrorCode::usage, "a text with a token that is none of the vocabulary");
}

Status check(const ScoreRequest& request, const ModelShape& shape) {
  for (const std::vector<int>* tokens :
       {request.prompt, &request.continuation->tokens, &request.continuation->offered}) {
    if (const Status known = check_tokens(*tokens); !known) return known;
  }
  return check_length(length_of(request), shape);
}

ChoicePlaces choice_places(std::span<const ScoreRequest> requests,
                           std::span<const std::size_t> part, const Network& network) {
  std::size_t longest = 0, most_legal = 1;
  for (const std::size_t i : part) {
    longest = std::max(longest, length_of(requests[i]));
    const Continuation& text = *requests[i].continuation;
    for (std::size_t t = 0; t < text.tokens.size(); ++t) {
      most_legal = std::max(most_legal, text.legal(t).size());
    }
  }
  ChoicePlaces places;
  Rows rows = empty_rows(part.size(), longest);
  std::vector<std::int64_t> before, legal, chosen;
  std::vector<double> unused;
  for (std::size_t r = 0; r < part.size(); ++r) {
    const ScoreRequest& request = requests[part[r]];
    const Continuation& text = *request.continuation;
    const int open = opening(text.analysis);
    std::size_t at = 0;
    put(rows, static_cast<std::int64_t>(r), at, *request.prompt);
    put(rows, static_cast<std::int64_t>(r), at, {&open, 1});
    for (std::size_t t = 0; t < text.tokens.size(); ++t) {
      if (text.forced(t)) continue;
      places.where.push_back({part[r], t});
      before.push_back(static_cast<std::int64_t>(r * longest + at + t - 1));
      const std::span<const int> offered = text.legal(t);
      const auto column = std::ranges::find(offered, text.tokens[t]) - offered.begin();
      chosen.push_back(column);
      for (std::size_t c = 0; c < most_legal; ++c) {
        legal.push_back(c < offered.size() ? offered[c] : 0);
        unused.push_back(c < offered.size() ? 0 : 1);
      }
    }
    put(rows, static_cast<std::int64_t>(r), at, text.tokens);
  }
  const auto count = static_cast<std::int64_t>(before.size());
  const auto columns = static_cast<std::int64_t>(most_legal);
  places.tokens = indices_of(rows.tokens, {rows.rows, rows.places}, network);
  places.before = indices_of(before, {count}, network);
  places.legal = indices_of(legal, {count, columns}, network);
  places.chosen = indices_of(chosen, {count, 1}, network);
  places.unused = tensor_of(unused, {count, columns}, network).to(at::kBool);
  return places;
}

ChoiceValues values_at(const ChoicePlaces& places, const Network& network, double temperature) {
  const at::Tensor states = network.states(places.tokens, nullptr);
  const at::Tensor chosen = states.reshape({-1, states.size(2)}).index_select(0, places.before);
  const at::Tensor scores = network.logits(chosen).gather(1, places.legal) / temperature;
  const at::Tensor log_p = at::log_softmax(scores.masked_fill(places.unused, kNever), 1);
  return {.log_probabilities = log_p.gather(1, places.chosen).squeeze(1),
          .entropies = -(log_p.exp() * log_p).sum(1)};
}

at::Tensor weighted_loss(std::span<const WeightedText> texts, std::span<const std::size_t> part,
                         const Network& network, std::size_t& predicted) {
  std::size_t longest = 0;
  for (const std::size_t i : part) longest = std::max(longest, texts[i].tokens.size());
  Rows rows = empty_rows(part.size(), longest);
  std::vector<std::int64_t> before, targets;
  std::vector<double> weights;
  for (std::size_t r = 0; r < part.size(); ++r) {
    const WeightedText& text = texts[part[r]];
    std::size_t at = 0;
    put(rows, static_cast<std::int64_t>(r), at, text.tokens);
    for (std::size_t t = 1; t < text.tokens.size(); ++t) {
      if (!(text.weights[t] > 0)) continue;
      before.push_back(static_cast<std::int64_t>(r * longest + t - 1));
      targets.push_back(text.tokens[t]);
      weights.push_back(static_cast<double>(text.weights[t]));
    }
  }
  const auto count = static_cast<std::int64_t>(before.size());
  predicted += before.size();
  const at::Tensor states =
      network.states(indices_of(rows.tokens, {rows.rows, rows.places}, network), nullptr);
  const at::Tensor needed =
      states.reshape({-1, states.size(2)}).index_select(0, indices_of(before, {count}, network));
  const at::Tensor log_p = at::log_softmax(network.logits(needed), 1)
                               .gather(1, indices_of(targets, {count, 1}, network))
                               .squeeze(1);
  return -(log_p * tensor_of(weights, {count}, network)).sum();
}

}  // namespace tilewright
