// SPDX-License-Identifier: Apache-2.0
// Simulated annealing: a walk by mutations that always takes a faster program and a slower one with
// a probability that falls as it cools. Without progress it starts again, by turns from the best
// program and from a new one. Results may come late and several at once; each is a step.
#include "policy/searcher.h"

#include <algorithm>
#include <cmath>

namespace tilewright {
namespace {

class AnnealPolicy final : public Searcher {
 public:
  explicit AnnealPolicy(PolicyContext context)
      : Searcher("anneal", std::move(context), 3), temperature_(knob("temperature")) {
    const std::size_t winners = std::min(knob_count("transfers"), knob_count("start"));
    start_with(winners, 1, knob_count("start") - winners);
  }

 private:
  std::optional<Program> wish() override {
    if (!here_) return pool_.sample(rng_);
    return pool_.mutate(here_->program, rng_);
  }

  void learn(const Measured& result) override {
    const bool record = result.fitness > best_;
    if (record) best_ = result.fitness;
    if (result.fitness > 0 && (!here_ || accepts(result.fitness))) here_ = result;
    temperature_ *= knob("cooling");
    idle_ = record ? 0 : idle_ + 1;
    if (idle_ >= knob_count("patience")) restart();
  }

  bool accepts(double fitness) {
    const double slower = std::log(here_->fitness / fitness);
    return slower <= 0 || rng_.uniform() < std::exp(-slower / temperature_);
  }

  void restart() {
    idle_ = 0;
    temperature_ = knob("temperature");
    here_.reset();
    if (restarts_++ % 2 == 0 && !ranking().empty()) here_ = measured()[ranking().front()];
  }

  double temperature_;
  std::optional<Measured> here_;
  double best_ = 0;
  std::size_t idle_ = 0, restarts_ = 0;
};

}  // namespace

std::unique_ptr<Policy> make_anneal(PolicyContext context) {
  return std::make_unique<AnnealPolicy>(std::move(context));
}

}  // namespace tilewright
