// SPDX-License-Identifier: Apache-2.0
// AdamW (Loshchilov, Hutter, arXiv 1711.05101) over a network's parameters. Our own because
// LibTorch's keeps its moments by an address whose type differs between versions, and a checkpoint
// needs them by name.
#pragma once

#include "learn/torch/network.h"
#include "learn/trainer.h"

#include <cstdint>
#include <vector>

namespace tilewright {

class AdamW {
 public:
  explicit AdamW(const Network& network);

  void clear_gradients();
  // Scales gradients whose joint norm exceeds `most`; the norm before that.
  double clip_gradients(double most);
  void step(const TrainOptions& options, double learning_rate);
  void forget();

  [[nodiscard]] std::int64_t updates() const { return updates_; }
  void set_updates(std::int64_t updates) { updates_ = updates; }
  // In the order of the network's parameters.
  [[nodiscard]] const std::vector<at::Tensor>& means() const { return means_; }
  [[nodiscard]] const std::vector<at::Tensor>& squares() const { return squares_; }

 private:
  std::vector<at::Tensor> parameters_, means_, squares_;
  std::int64_t updates_ = 0;  // since the moments began
};

}  // namespace tilewright
