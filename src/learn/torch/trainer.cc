// SPDX-License-Identifier: Apache-2.0
// Next tokens of given texts, and what all steps of a trainer share. See trainer.h.
#include "learn/trainer.h"

#include "learn/torch/places.h"
#include "learn/torch/training.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

namespace tilewright {
namespace {

constexpr double kLastRate = 0.1;  // of the rate, at the end of a cosine

double total_weight(std::span<const WeightedText> texts) {
  double total = 0;
  for (const WeightedText& text : texts) {
    for (std::size_t t = 1; t < text.weights.size(); ++t) {
      total += std::max(0.0, static_cast<double>(text.weights[t]));
    }
  }
  return total;
}

struct Share {
  double loss = 0;
  std::size_t predicted = 0;
};

// The mean loss of the texts; visit(sum, worker) of each part's tensor of the sum.
template <class Visit>
double mean_loss(std::span<const WeightedText> texts, std::size_t workers,
                 std::size_t tokens_at_once, StepReport* report,
                 const std::function<const Network&(std::size_t)>& network_of, const Visit& visit) {
  const double total = total_weight(texts);
  if (!(total > 0)) return 0;
  std::vector<std::size_t> lengths;
  std::size_t tokens = 0, longest = 0;
  for (const WeightedText& text : texts) {
    lengths.push_back(text.tokens.size());
    tokens += lengths.back();
    longest = std::max(longest, lengths.back());
  }
  const auto parts = in_parts(lengths, part_size(tokens, longest, workers, tokens_at_once));
  std::vector<Share> shares(parts.size());
  for_parts(parts.size(), workers, [&](std::size_t i, std::size_t worker) {
    const at::Tensor sum = weighted_loss(texts, parts[i], network_of(worker), shares[i].predicted);
    visit(sum, total);
    shares[i].loss = sum.template item<double>() / total;
  });
  double loss = 0;
  for (const Share& share : shares) {
    loss += share.loss;
    if (report != nullptr) report->predicted += share.predicted;
  }
  if (report != nullptr) report->tokens += tokens;
  return loss;
}

}  // namespace

WeightedText weighted(const LearningText& text, float prompt) {
  WeightedText out{.tokens = text.tokens, .weights = std::vector<float>(text.tokens.size(), 1)};
  std::fill_n(out.weights.begin(), static_cast<std::ptrdiff_t>(text.own), prompt);
  return out;
}

Status check_texts(std::span<const WeightedText> texts, const ModelShape& shape) {
  for (const WeightedText& text : texts) {
    if (text.weights.size() != text.tokens.size()) {
      return fail(ErrorCode::usage, fmt::format("a text of {} tokens with {} weights",
                                                text.tokens.size(), text.weights.size()));
    }
    if (const Status known = check_tokens(text.tokens); !known) return known;
    if (const Status ok = check_length(text.tokens.size(), shape); !ok) return ok;
  }
  return {};
}

double text_gradients(std::span<const WeightedText> texts, Gradients& gradients, double scale,
                      std::size_t tokens_at_once, StepReport* report) {
  const c10::AutoGradMode on(true);
  return mean_loss(
      texts, gradients.workers(), tokens_at_once, report,
      [&](std::size_t worker) -> const Network& { return gradients.of(worker); },
      [&](const at::Tensor& sum, double total) { (sum * (scale / total)).backward(); });
}

double Trainer::Impl::learning_rate() const {
  const auto step = static_cast<double>(stage_steps);
  double rate = options.learning_rate;
  if (options.total_steps > 0) {
    const double part = std::min(step / static_cast<double>(options.total_steps), 1.0);
    const double cosine = (1 + std::cos(std::numbers::pi * part)) / 2;
    rate *= kLastRate + (1 - kLastRate) * cosine;
  }
  if (stage_steps < options.warmup_steps) {
    rate *= (step + 1) / static_cast<double>(options.warmup_steps);
  }
  return rate;
}

double Trainer::Impl::update() {
  const double norm = optimiser.clip_gradients(options.gradient_norm);
  if (std::isfinite(norm)) {
    optimiser.step(options, learning_rate());
    reference_is_model = false;
  }
  ++steps;
  ++stage_steps;
  optimiser.clear_gradients();
  return norm;
}

Trainer::Trainer(LanguageModel& model, const TrainOptions& options)
    : impl_(std::make_unique<Impl>(Impl{.model = &model.impl(),
                                        .options = options,
                                        .optimiser = AdamW(model.impl().network),
                                        .reference = model.impl().network.copy()})) {}
Trainer::~Trainer() = default;
Trainer::Trainer(Trainer&&) noexcept = default;
Trainer& Trainer::operator=(Trainer&&) noexcept = default;

const TrainOptions& Trainer::options() const {
  return impl_->options;
}

void Trainer::set_options(const TrainOptions& options, bool forget) {
  impl_->options = options;
  impl_->stage_steps = 0;
  if (forget) impl_->optimiser.forget();
}

std::int64_t Trainer::steps() const {
  return impl_->steps;
}

void Trainer::renew_reference() {
  impl_->reference.assign(impl_->network());
  impl_->reference_is_model = true;
}

Result<StepReport> Trainer::learn(std::span<const WeightedText> texts) {
  if (const Status ok = check_texts(texts, impl_->network().shape()); !ok) {
    return tl::unexpected(ok.error());
  }
  StepReport report;
  report.learning_rate = impl_->learning_rate();
  Gradients gradients(impl_->model->network);
  report.loss = text_gradients(texts, gradients, 1, impl_->options.tokens_at_once, &report);
  gradients.collect();
  if (report.predicted > 0) report.gradient_norm = impl_->update();
  report.step = impl_->steps;
  return report;
}

Result<StepReport> Trainer::evaluate(std::span<const WeightedText> texts) const {
  if (const Status ok = check_texts(texts, impl_->network().shape()); !ok) {
    return tl::unexpected(ok.error());
  }
  StepReport report;
  const c10::NoGradGuard no_grad;
  report.loss = mean_loss(
      texts, workers_for(impl_->network()), impl_->options.tokens_at_once, &report,
      [&](std::size_t) -> const Network& { return impl_->network(); },
      [](const at::Tensor&, double) {});
  report.step = impl_->steps;
  return report;
}

}  // namespace tilewright
