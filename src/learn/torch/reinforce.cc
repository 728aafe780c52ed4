// SPDX-License-Identifier: Apache-2.0
// Reinforcement: J of objective.h with tensors, and the steps that raise it. See trainer.h.
#include "learn/torch/places.h"
#include "learn/torch/tensors.h"
#include "learn/torch/training.h"

#include <fmt/format.h>

#include <algorithm>

namespace tilewright {
namespace {

// The texts of groups that teach something, one after another.
struct Batch {
  std::vector<ScoreRequest> requests;
  struct Gain {
    double program = 0, analysis = 0;
    std::size_t remarks = 0;  // so many words are the analysis's
  };
  std::vector<Gain> gains;
  std::vector<const std::vector<double>*> old;  // null: written by the model as it is
  std::vector<std::size_t> lengths;
  std::size_t flat_groups = 0, places = 0, tokens = 0;
};

// Advantages of a group's texts; empty if it teaches nothing.
std::vector<Batch::Gain> gains_of(const TextGroup& group, AdvantageKind kind) {
  std::vector<double> rewards, of_remarks;
  for (const ScoredText& text : group.texts) {
    rewards.push_back(text.reward);
    if (text.analysis_reward) of_remarks.push_back(*text.analysis_reward);
  }
  const bool apart = of_remarks.size() == rewards.size();
  if (!apart) of_remarks = rewards;
  std::vector<Batch::Gain> gains;
  if (is_flat(rewards) && is_flat(of_remarks)) return gains;
  const auto advantage = [&](const std::vector<double>& values) {
    return is_flat(values) ? std::vector<double>(values.size(), 0) : advantages(values, kind);
  };
  const std::vector<double> program = advantage(rewards), analysis = advantage(of_remarks);
  for (std::size_t i = 0; i < group.texts.size(); ++i) {
    const Continuation& text = group.texts[i].continuation;
    const auto mark = std::ranges::find(text.tokens, marks().program);
    const auto before = text.analysis ? mark - text.tokens.begin() : 0;
    gains.push_back({program[i], analysis[i], static_cast<std::size_t>(before)});
  }
  return gains;
}

Result<Batch> gather(std::span<const TextGroup> groups, const ReinforceOptions& options,
                     const ModelShape& shape) {
  Batch batch;
  for (const TextGroup& group : groups) {
    const std::vector<Batch::Gain> gains = gains_of(group, options.advantage);
    if (gains.empty()) {
      ++batch.flat_groups;
      continue;
    }
    for (std::size_t i = 0; i < group.texts.size(); ++i) {
      const ScoredText& text = group.texts[i];
      const std::size_t places = text.continuation.tokens.size();
      batch.requests.push_back({&group.prompt, &text.continuation});
      batch.gains.push_back(gains[i]);
      batch.lengths.push_back(length_of(batch.requests.back()));
      if (const Status ok = check(batch.requests.back(), shape); !ok) {
        return tl::unexpected(ok.error());
      }
      const bool fresh = text.old_log_probabilities.empty();
      if (!fresh && text.old_log_probabilities.size() != places) {
        return fail(ErrorCode::usage, fmt::format("a text of {} tokens with {} old probabilities",
                                                  places, text.old_log_probabilities.size()));
      }
      batch.old.push_back(fresh ? nullptr : &text.old_log_probabilities);
      batch.tokens += batch.lengths.back();
      for (std::size_t t = 0; t < places; ++t) batch.places += text.continuation.forced(t) ? 0 : 1;
    }
  }
  return batch;
}

// One part of a batch, ready for the network; what does not change between epochs is kept.
struct Part {
  ChoicePlaces places;
  at::Tensor advantages, old, reference;  // [places]; old is undefined until the first pass
};

Part part_of(const Batch& batch, std::span<const std::size_t> part, const Network& network,
             const Network& reference, const ReinforceOptions& options) {
  Part out{.places = choice_places(batch.requests, part, network),
           .advantages = {},
           .old = {},
           .reference = {}};
  const auto count = static_cast<std::int64_t>(out.places.where.size());
  if (count == 0) return out;
  const c10::NoGradGuard no_grad;
  if (options.kl_weight > 0) {
    out.reference = values_at(out.places, reference, options.temperature).log_probabilities;
  }
  const bool stale =
      std::ranges::any_of(part, [&](std::size_t i) { return batch.old[i] != nullptr; });
  std::vector<double> gains, old;
  if (stale) {
    old = doubles_of(values_at(out.places, network, options.temperature).log_probabilities);
  }
  for (std::size_t i = 0; i < out.places.where.size(); ++i) {
    const auto& [text, place] = out.places.where[i];
    const Batch::Gain& gain = batch.gains[text];
    gains.push_back(place < gain.remarks ? gain.analysis : gain.program);
    if (stale && batch.old[text] != nullptr) old[i] = (*batch.old[text])[place];
  }
  out.advantages = tensor_of(gains, {count}, network);
  if (stale) out.old = tensor_of(old, {count}, network);
  return out;
}

struct Weights {
  double places = 1;  // n
  double kl = 0, entropy = 0;
  Clip clip;
};

// The part's share of -J, and its places as numbers.
at::Tensor part_loss(Part& part, const Network& network, double temperature, const Weights& weights,
                     std::vector<ObjectivePlace>& out) {
  const ChoiceValues values = values_at(part.places, network, temperature);
  const at::Tensor& log_p = values.log_probabilities;
  if (!part.old.defined()) part.old = log_p.detach().clone();
  const at::Tensor ratio = (log_p - part.old).exp();
  at::Tensor gain = at::minimum(ratio * part.advantages,
                                ratio.clamp(weights.clip.low, weights.clip.high) * part.advantages);
  if (part.reference.defined()) {
    const at::Tensor difference = part.reference - log_p;
    gain = gain - weights.kl * (difference.expm1() - difference);
  }
  const at::Tensor sum = gain.sum() + weights.entropy * values.entropies.sum();

  const std::vector<double> now = doubles_of(log_p), old = doubles_of(part.old),
                            entropies = doubles_of(values.entropies),
                            advantages = doubles_of(part.advantages),
                            reference = part.reference.defined() ? doubles_of(part.reference) : now;
  for (std::size_t i = 0; i < now.size(); ++i) {
    out.push_back({.log_probability = now[i],
                   .old_log_probability = old[i],
                   .reference_log_probability = reference[i],
                   .advantage = advantages[i],
                   .entropy = entropies[i]});
  }
  return -sum / weights.places;
}

std::vector<Part> parts_of(const Batch& batch, const Network& network, const Network& reference,
                           const ReinforceOptions& options, std::size_t tokens_at_once) {
  const std::size_t workers = workers_for(network);
  const std::size_t longest = batch.lengths.empty() ? 0 : *std::ranges::max_element(batch.lengths);
  const auto cut =
      in_parts(batch.lengths, part_size(batch.tokens, longest, workers, tokens_at_once));
  std::vector<Part> parts(cut.size());
  for_parts(cut.size(), workers, [&](std::size_t i, std::size_t) {
    parts[i] = part_of(batch, cut[i], network, reference, options);
  });
  std::erase_if(parts, [](const Part& part) { return part.places.where.empty(); });
  return parts;
}

// Adds the gradient of -J; the places as numbers, in a fixed order. -J itself is returned.
double objective_gradients(std::vector<Part>& parts, Gradients& gradients, double temperature,
                           const Weights& weights, std::vector<ObjectivePlace>& places) {
  const c10::AutoGradMode on(true);
  std::vector<std::vector<ObjectivePlace>> shares(parts.size());
  std::vector<double> losses(parts.size());
  for_parts(parts.size(), gradients.workers(), [&](std::size_t i, std::size_t worker) {
    const at::Tensor loss =
        part_loss(parts[i], gradients.of(worker), temperature, weights, shares[i]);
    loss.backward();
    losses[i] = loss.item<double>();
  });
  double sum = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    sum += losses[i];
    places.insert(places.end(), shares[i].begin(), shares[i].end());
  }
  return sum;
}

Weights weights_of(const Batch& batch, const ReinforceOptions& options) {
  return {.places = static_cast<double>(std::max<std::size_t>(batch.places, 1)),
          .kl = options.kl_weight,
          .entropy = options.entropy != nullptr ? options.entropy->weight : 0,
          .clip = options.clip};
}

}  // namespace

Result<ReinforceReport> Trainer::reinforce(std::span<const TextGroup> groups,
                                           std::span<const WeightedText> archive,
                                           const ReinforceOptions& options) {
  const Network& network = impl_->network();
  if (const Status ok = check_texts(archive, network.shape()); !ok) {
    return tl::unexpected(ok.error());
  }
  const auto batch = gather(groups, options, network.shape());
  if (!batch) return tl::unexpected(batch.error());
  const Weights weights = weights_of(*batch, options);
  ReinforceReport report;
  report.groups = groups.size();
  report.flat_groups = batch->flat_groups;
  report.places = batch->places;
  report.tokens = batch->tokens;
  report.entropy_weight = weights.entropy;
  const bool from_archive = !archive.empty() && options.archive_weight > 0;
  if (batch->places == 0 && !from_archive) return report;

  std::vector<Part> parts =
      parts_of(*batch, network, impl_->reference, options, impl_->options.tokens_at_once);
  for (int epoch = 0; epoch < options.epochs; ++epoch) {
    Gradients gradients(impl_->model->network);
    std::vector<ObjectivePlace> places;
    objective_gradients(parts, gradients, options.temperature, weights, places);
    if (from_archive) {
      report.archive_loss = text_gradients(archive, gradients, options.archive_weight,
                                           impl_->options.tokens_at_once, nullptr);
    }
    gradients.collect();
    report.epochs.push_back(objective(places, options.clip, weights.kl, weights.entropy));
    report.gradient_norm = impl_->update();
    report.updated = true;
  }
  if (options.entropy != nullptr && batch->places > 0) {
    options.entropy->observe(report.epochs.front().entropy);
  }
  return report;
}

Result<double> Trainer::reinforce_loss(std::span<const TextGroup> groups,
                                       std::span<const WeightedText> archive,
                                       const ReinforceOptions& options,
                                       std::vector<double>* gradient) const {
  const Network& network = impl_->network();
  if (const Status ok = check_texts(archive, network.shape()); !ok) {
    return tl::unexpected(ok.error());
  }
  const auto batch = gather(groups, options, network.shape());
  if (!batch) return tl::unexpected(batch.error());
  const Weights weights = weights_of(*batch, options);
  std::vector<Part> parts =
      parts_of(*batch, network, impl_->reference, options, impl_->options.tokens_at_once);
  impl_->optimiser.clear_gradients();
  Gradients gradients(impl_->model->network);
  std::vector<ObjectivePlace> places;
  double loss = objective_gradients(parts, gradients, options.temperature, weights, places);
  loss += options.archive_weight * text_gradients(archive, gradients, options.archive_weight,
                                                  impl_->options.tokens_at_once, nullptr);
  gradients.collect();
  if (gradient != nullptr) {
    gradient->clear();
    for (const auto& [name, tensor] : network.parameters()) {
      const std::vector<double> values =
          doubles_of(tensor.grad().defined() ? tensor.grad() : at::zeros_like(tensor));
      gradient->insert(gradient->end(), values.begin(), values.end());
    }
  }
  impl_->optimiser.clear_gradients();
  return loss;
}

}  // namespace tilewright
