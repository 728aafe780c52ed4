// SPDX-License-Identifier: Apache-2.0
// Uniform over the legal programs: the control that every other policy has to beat.
#include "policy/pool.h"

namespace tilewright {

std::vector<Space> legal_spaces(const Problem& problem, const Device& device) {
  std::vector<Space> spaces;
  for (const Family* family : families()) {
    Space space(*family, problem, device);
    if (space.count() > 0) spaces.push_back(std::move(space));
  }
  return spaces;
}

std::optional<Program> sample_any(const std::vector<Space>& spaces, Rng& rng) {
  double total = 0;
  for (const Space& space : spaces) total += space.count();
  double draw = rng.uniform() * total;
  for (const Space& space : spaces) {
    if (draw < space.count()) return space.sample(rng);
    draw -= space.count();
  }
  return spaces.empty() ? std::nullopt : spaces.back().sample(rng);
}

namespace {

class RandomPolicy final : public Policy {
 public:
  explicit RandomPolicy(PolicyContext context)
      : context_(std::move(context)), pool_(context_), rng_(context_.seed) {}

  std::vector<Program> propose(std::size_t count) override {
    return up_to(count, [this] { return pool_.take_any(rng_); });
  }

  void observe(const Trial& trial) override { pool_.take_text(trial.program); }
  [[nodiscard]] std::string_view name() const override { return "random"; }

 private:
  PolicyContext context_;
  Pool pool_;
  Rng rng_;
};

}  // namespace

std::unique_ptr<Policy> make_random(PolicyContext context) {
  return std::make_unique<RandomPolicy>(std::move(context));
}

}  // namespace tilewright
