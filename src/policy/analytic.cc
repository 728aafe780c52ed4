// SPDX-License-Identifier: Apache-2.0
// Programs in the order of the cost model (cost_model.cc): a sample of the space and, since a
// uniform sample rarely holds the best corner, hill climbing from its best programs.
#include "policy/proposers.h"

#include <algorithm>

namespace tilewright {
namespace {

constexpr int kSample = 1500;          // uniform draws
constexpr std::size_t kClimbers = 12;  // best draws that are improved step by step
constexpr int kSteps = 12;

struct Ranked {
  double seconds;
  Program program;
};

class AnalyticPolicy final : public Policy {
 public:
  explicit AnalyticPolicy(PolicyContext context)
      : context_(std::move(context)),
        spaces_(legal_spaces(context_.problem, context_.device)),
        rng_(context_.seed) {}

  std::vector<Program> propose(std::size_t count) override {
    std::vector<Program> out;
    for (int refills = 0; out.size() < count && refills < 4;) {
      if (next_ == ranked_.size()) {
        refill();
        ++refills;
        if (ranked_.empty()) break;
        continue;
      }
      Program program = ranked_[next_++].program;
      if (seen_.add(program)) out.push_back(std::move(program));
    }
    return out;
  }

  void observe(const Trial& trial) override { seen_.add_text(trial.program); }
  [[nodiscard]] std::string_view name() const override { return "analytic"; }

 private:
  [[nodiscard]] Ranked rank(Program program) const {
    const double seconds = estimate_seconds(program, context_.problem, context_.device);
    return {seconds, std::move(program)};
  }

  // The better of a program and its neighbours, until none is better.
  [[nodiscard]] Ranked climb(Ranked from) const {
    for (int step = 0; step < kSteps; ++step) {
      Ranked best = from;
      for (Program& neighbour : neighbours(space_of(from.program), from.program)) {
        Ranked other = rank(std::move(neighbour));
        if (other.seconds < best.seconds) best = std::move(other);
      }
      if (best.program == from.program) return from;
      from = std::move(best);
    }
    return from;
  }

  [[nodiscard]] const Space& space_of(const Program& program) const {
    return *std::ranges::find_if(spaces_,
                                 [&](const Space& s) { return &s.family() == &program.family(); });
  }

  void refill() {
    ranked_.clear();
    next_ = 0;
    Seen local;
    for (int i = 0; i < kSample; ++i) {
      std::optional<Program> program = sample_any(spaces_, rng_);
      if (!program) return;
      if (!seen_.contains(*program) && local.add(*program)) {
        ranked_.push_back(rank(*std::move(program)));
      }
    }
    const auto by_time = [](const Ranked& a, const Ranked& b) { return a.seconds < b.seconds; };
    std::ranges::sort(ranked_, by_time);
    const std::size_t climbers = std::min(kClimbers, ranked_.size());
    for (std::size_t i = 0; i < climbers; ++i) {
      Ranked top = climb(ranked_[i]);
      if (!seen_.contains(top.program) && local.add(top.program)) ranked_.push_back(std::move(top));
    }
    std::ranges::stable_sort(ranked_, by_time);
  }

  PolicyContext context_;
  std::vector<Space> spaces_;
  Rng rng_;
  Seen seen_;
  std::vector<Ranked> ranked_;
  std::size_t next_ = 0;
};

}  // namespace

std::unique_ptr<Policy> make_analytic(PolicyContext context) {
  return std::make_unique<AnalyticPolicy>(std::move(context));
}

}  // namespace tilewright
