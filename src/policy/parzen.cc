// SPDX-License-Identifier: Apache-2.0
// Tree-structured Parzen estimator (Bergstra et al., NeurIPS 2011) over decisions: how often each
// value occurs among the good programs, l, and among the others, g. Candidates are written decision
// by decision from l, masked by what is legal, and the one with the largest l/g is proposed. A
// decision counts only where it exists, so that conditional ones are estimated from the programs
// that have them.
#include "policy/searcher.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace tilewright {
namespace {

// Of one family: how often each value of each decision occurred, begun with one observation that is
// spread over all values.
using Counts = std::vector<std::vector<double>>;

Counts prior_of(const Family& family) {
  Counts counts;
  for (const Decision& decision : family.decisions) {
    const std::size_t n = decision.values.size();
    counts.emplace_back(n, 1.0 / static_cast<double>(n));
  }
  return counts;
}

class ParzenPolicy final : public Searcher {
 public:
  explicit ParzenPolicy(PolicyContext context) : Searcher("tpe", std::move(context), 4) {
    const std::size_t winners = std::min(knob_count("transfers"), knob_count("start"));
    start_with(winners, 1, knob_count("start") - winners);
  }

 private:
  struct Side {
    double programs = 1;
    Counts counts;
  };
  struct Estimate {
    Side good, other;
  };

  void learn(const Measured& /*result*/) override { stale_ = true; }

  std::optional<Program> wish() override {
    if (ranking().empty()) return pool_.sample(rng_);
    if (stale_) fit();
    std::optional<Program> best;
    double most = -std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < knob_count("draws"); ++i) {
      std::optional<Program> program = draw();
      if (!program || pool_.taken(*program)) continue;
      const double score = score_of(*program);
      if (score > most) {
        most = score;
        best = std::move(program);
      }
    }
    return best;
  }

  void fit() {
    estimates_.clear();
    for (const Space& space : pool_.spaces()) {
      const Counts prior = prior_of(space.family());
      estimates_[&space.family()] = {{1, prior}, {1, prior}};
    }
    const auto share = knob("good") * static_cast<double>(measured().size());
    const std::size_t good =
        std::min(ranking().size(), static_cast<std::size_t>(std::max(1.0, std::ceil(share))));
    std::vector<bool> is_good(measured().size(), false);
    for (std::size_t i = 0; i < good; ++i) is_good[ranking()[i]] = true;
    for (std::size_t i = 0; i < measured().size(); ++i) {
      const Choices& choices = measured()[i].program.choices();
      Estimate& estimate = estimates_[&choices.family()];
      Side& side = is_good[i] ? estimate.good : estimate.other;
      ++side.programs;
      for (std::size_t d = 0; d < side.counts.size(); ++d) {
        if (choices.at(d) >= 0) ++side.counts[d][static_cast<std::size_t>(choices.at(d))];
      }
    }
    stale_ = false;
  }

  // Position of a draw by weight.
  template <class Weight>
  std::size_t pick(std::size_t count, const Weight& weight) {
    double total = 0;
    for (std::size_t i = 0; i < count; ++i) total += weight(i);
    double at = rng_.uniform() * total;
    for (std::size_t i = 0; i + 1 < count; ++i) {
      if (at < weight(i)) return i;
      at -= weight(i);
    }
    return count - 1;
  }

  std::optional<Program> draw() {
    const std::vector<Space>& spaces = pool_.spaces();
    const Space& space = spaces[pick(spaces.size(), [&](std::size_t i) {
      return estimates_[&spaces[i].family()].good.programs;
    })];
    const Counts& good = estimates_[&space.family()].good.counts;
    Choices choices(space.family());
    for (std::size_t d = 0; d < good.size(); ++d) {
      if (!exists(space.family().decisions[d], choices)) {
        choices.set(d, kAbsent);
        continue;
      }
      const std::vector<Choice> allowed = space.next(choices);
      if (allowed.empty()) return std::nullopt;
      choices.set(d, allowed[pick(allowed.size(), [&](std::size_t i) {
                    return good[d][static_cast<std::size_t>(allowed[i])];
                  })]);
    }
    return Program(std::move(choices));
  }

  double score_of(const Program& program) {
    const Estimate& estimate = estimates_[&program.family()];
    const auto share = [&](double good, double other) { return std::log(good / other); };
    double score = share(estimate.good.programs, estimate.other.programs);
    for (std::size_t d = 0; d < estimate.good.counts.size(); ++d) {
      const Choice value = program.choices().at(d);
      if (value < 0) continue;
      const auto v = static_cast<std::size_t>(value);
      double goods = 0, others = 0;
      for (const double n : estimate.good.counts[d]) goods += n;
      for (const double n : estimate.other.counts[d]) others += n;
      score += share(estimate.good.counts[d][v] / goods, estimate.other.counts[d][v] / others);
    }
    return score;
  }

  std::map<const Family*, Estimate> estimates_;
  bool stale_ = true;
};

}  // namespace

std::unique_ptr<Policy> make_parzen(PolicyContext context) {
  return std::make_unique<ParzenPolicy>(std::move(context));
}

}  // namespace tilewright
