// SPDX-License-Identifier: Apache-2.0
// See adamw.h.
#include "learn/torch/adamw.h"

#include <cmath>

namespace tilewright {

AdamW::AdamW(const Network& network) {
  for (const auto& [name, tensor] : network.parameters()) {
    parameters_.push_back(tensor);
    means_.push_back(at::zeros_like(tensor));
    squares_.push_back(at::zeros_like(tensor));
  }
}

void AdamW::clear_gradients() {
  for (at::Tensor& parameter : parameters_) parameter.mutable_grad() = at::Tensor();
}

double AdamW::clip_gradients(double most) {
  const c10::NoGradGuard no_grad;
  std::vector<at::Tensor> norms;
  for (const at::Tensor& parameter : parameters_) {
    if (parameter.grad().defined()) norms.push_back(parameter.grad().norm());
  }
  if (norms.empty()) return 0;
  const double norm = at::stack(norms).norm().item<double>();
  if (std::isfinite(norm) && norm > most) {
    for (const at::Tensor& parameter : parameters_) {
      if (parameter.grad().defined()) parameter.grad().mul_(most / norm);
    }
  }
  return norm;
}

void AdamW::step(const TrainOptions& options, double learning_rate) {
  const c10::NoGradGuard no_grad;
  ++updates_;
  const auto count = static_cast<double>(updates_);
  const double mean_scale = 1 - std::pow(options.beta1, count);
  const double square_scale = 1 - std::pow(options.beta2, count);
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    at::Tensor& parameter = parameters_[i];
    const at::Tensor gradient = parameter.grad();
    if (!gradient.defined()) continue;
    if (parameter.dim() == 2) parameter.mul_(1 - learning_rate * options.weight_decay);
    means_[i].mul_(options.beta1).add_(gradient, 1 - options.beta1);
    squares_[i].mul_(options.beta2).addcmul_(gradient, gradient, 1 - options.beta2);
    const at::Tensor scale = (squares_[i] / square_scale).sqrt_().add_(options.epsilon);
    parameter.addcdiv_(means_[i], scale, -learning_rate / mean_scale);
  }
}

void AdamW::forget() {
  updates_ = 0;
  for (at::Tensor& tensor : means_) tensor.zero_();
  for (at::Tensor& tensor : squares_) tensor.zero_();
}

}  // namespace tilewright
