// SPDX-License-Identifier: Apache-2.0
// What won on the nearest recorded shapes, then a local search around the best of it. Without
// records it is a local search from uniform draws.
#include "policy/searcher.h"

#include <algorithm>
#include <unordered_map>

namespace tilewright {
namespace {

class TransferPolicy final : public Searcher {
 public:
  explicit TransferPolicy(PolicyContext context) : Searcher("transfer", std::move(context), 5) {
    start_with(knob_count("winners"), knob_count("per_shape"), knob_count("start"));
  }

 private:
  std::optional<Program> wish() override {
    if (ranking().empty()) return pool_.sample(rng_);
    const std::size_t front =
        std::min(ranking().size(), std::max<std::size_t>(knob_count("front"), 1));
    const Program& from = measured()[ranking()[rng_.below(front)]].program;
    if (rng_.uniform() < knob("jump")) return pool_.mutate(from, rng_);
    if (pool_.only() != nullptr) return pool_.neighbour(from, rng_);
    // To list neighbours is slow: once for each program, in random order.
    const auto [at, is_new] = around_.try_emplace(from.text());
    std::vector<Program>& left = at->second;
    if (is_new) {
      left = neighbours(pool_.space_of(from), from);
      for (std::size_t i = left.size(); i > 1; --i) std::swap(left[i - 1], left[rng_.below(i)]);
    }
    if (left.empty()) return pool_.mutate(from, rng_);
    Program next = std::move(left.back());
    left.pop_back();
    return next;
  }

  std::unordered_map<std::string, std::vector<Program>> around_;
};

}  // namespace

std::unique_ptr<Policy> make_transfer(PolicyContext context) {
  return std::make_unique<TransferPolicy>(std::move(context));
}

}  // namespace tilewright
