// SPDX-License-Identifier: Apache-2.0
// Work on a CPU by whole parts of a batch, a thread for each. Internal to learn/torch.
//
// LibTorch's own way, threads inside each operation, spins between operations: measured at 12,000
// tokens a second and core with one thread, and at a third of that with two on a loaded machine of
// two cores. Parts need nothing of each other.
//
// What is computed depends on how a batch is cut, never on which thread is faster: part i is always
// that of worker i % workers, and gradients are added up in the order of the workers.
#pragma once

#include "learn/torch/network.h"

#include <cstddef>
#include <functional>
#include <vector>

namespace tilewright {

// As set_learning_threads() said; 1 where it was not called, or the device is no CPU.
[[nodiscard]] std::size_t workers_for(const Network& network);

// part(i, worker) for all i below `count`. Exceptions reach the caller.
void for_parts(std::size_t count, std::size_t workers,
               const std::function<void(std::size_t, std::size_t)>& part);

// The largest part of `tokens` that gives every worker as many parts as the others.
[[nodiscard]] std::size_t part_size(std::size_t tokens, std::size_t longest, std::size_t workers,
                                    std::size_t most);

// The network once for each worker: the same weights, gradients apart.
class Gradients {
 public:
  explicit Gradients(Network& network);
  [[nodiscard]] std::size_t workers() const { return aliases_.size(); }
  [[nodiscard]] const Network& of(std::size_t worker) const { return aliases_[worker]; }
  // Gives the network the sum.
  void collect();

 private:
  Network& network_;
  std::vector<Network> aliases_;
};

}  // namespace tilewright
