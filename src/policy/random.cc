// SPDX-License-Identifier: Apache-2.0
// Uniform over the legal programs: the control that every other policy has to beat.
#include "policy/proposers.h"

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
  explicit RandomPolicy(const PolicyContext& context)
      : spaces_(legal_spaces(context.problem, context.device)), rng_(context.seed) {}

  std::vector<Program> propose(std::size_t count) override {
    std::vector<Program> out;
    // Small spaces run dry: give up after many draws in a row that were all known.
    for (int misses = 0; out.size() < count && misses < 1000;) {
      std::optional<Program> program = sample_any(spaces_, rng_);
      if (!program) break;
      if (seen_.add(*program)) {
        out.push_back(*std::move(program));
        misses = 0;
      } else {
        ++misses;
      }
    }
    return out;
  }

  void observe(const Trial& trial) override { seen_.add_text(trial.program); }
  [[nodiscard]] std::string_view name() const override { return "random"; }

 private:
  std::vector<Space> spaces_;
  Rng rng_;
  Seen seen_;
};

}  // namespace

std::unique_ptr<Policy> make_random(PolicyContext context) {
  return std::make_unique<RandomPolicy>(context);
}

}  // namespace tilewright
