// SPDX-License-Identifier: Apache-2.0
// A plain genetic algorithm, steady state: each child enters the population at once if it is fit
// enough. Unlike evolve it knows no cost model and no experts.
#include "policy/searcher.h"

#include <algorithm>

namespace tilewright {
namespace {

class GeneticPolicy final : public Searcher {
 public:
  explicit GeneticPolicy(PolicyContext context) : Searcher("ga", std::move(context), 2) {
    const std::size_t winners = std::min(knob_count("transfers"), knob_count("start"));
    start_with(winners, 1, knob_count("start") - winners);
  }

 private:
  std::optional<Program> wish() override {
    if (ranking().empty() || rng_.uniform() < knob("fresh")) return pool_.sample(rng_);
    if (rng_.uniform() >= knob("cross")) return pool_.mutate(parent(), rng_);
    std::optional<Program> child = pool_.cross(parent(), parent(), rng_);
    return child ? child : pool_.mutate(parent(), rng_);
  }

  // Tournament of two within the population.
  const Program& parent() {
    const std::size_t size = std::min(ranking().size(), knob_count("population"));
    return measured()[ranking()[std::min(rng_.below(size), rng_.below(size))]].program;
  }
};

}  // namespace

std::unique_ptr<Policy> make_genetic(PolicyContext context) {
  return std::make_unique<GeneticPolicy>(std::move(context));
}

}  // namespace tilewright
