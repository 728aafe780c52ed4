// SPDX-License-Identifier: Apache-2.0
// See workers.h.
#include "learn/torch/workers.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <exception>
#include <thread>

namespace tilewright {
namespace {

// Smaller matrices are slower, larger ones leave the caches.
constexpr std::size_t kTokensOfAPart = 4096;

}  // namespace

std::size_t workers_for(const Network& network) {
  if (!network.device().is_cpu() || at::get_num_threads() > 1) return 1;
  return std::max<std::size_t>(static_cast<std::size_t>(at::get_num_interop_threads()), 1);
}

void for_parts(std::size_t count, std::size_t workers,
               const std::function<void(std::size_t, std::size_t)>& part) {
  const std::size_t used = std::clamp<std::size_t>(count, 1, std::max<std::size_t>(workers, 1));
  // Whether gradients are recorded is a thread's own setting: ours is passed on.
  const bool gradients = c10::GradMode::is_enabled();
  std::vector<std::exception_ptr> failures(used);
  const auto work = [&](std::size_t worker) {
    try {
      const c10::AutoGradMode mode(gradients);
      for (std::size_t i = worker; i < count; i += used) part(i, worker);
    } catch (...) {
      failures[worker] = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> threads;
    for (std::size_t worker = 1; worker < used; ++worker) threads.emplace_back(work, worker);
    work(0);
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

std::size_t part_size(std::size_t tokens, std::size_t longest, std::size_t workers,
                      std::size_t most) {
  if (workers <= 1) return most;
  const std::size_t per_round = workers * std::min(kTokensOfAPart, most);
  const std::size_t rounds = std::max<std::size_t>((tokens + per_round - 1) / per_round, 1);
  // The cut is at whole texts, so a part may lack nearly one.
  return std::min(tokens / (workers * rounds) + longest, most);
}

Gradients::Gradients(Network& network) : network_(network) {
  for (std::size_t worker = 0; worker < workers_for(network); ++worker) {
    aliases_.push_back(network.alias());
    aliases_.back().require_gradients(true);
  }
}

void Gradients::collect() {
  const c10::NoGradGuard no_grad;
  auto targets = network_.parameters();
  for (const Network& alias : aliases_) {
    const auto sources = alias.parameters();
    for (std::size_t i = 0; i < targets.size(); ++i) {
      const at::Tensor gradient = sources[i].second.grad();
      if (!gradient.defined()) continue;
      at::Tensor& sum = targets[i].second.mutable_grad();
      sum = sum.defined() ? sum + gradient : gradient;
    }
  }
}

}  // namespace tilewright
