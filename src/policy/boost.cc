// SPDX-License-Identifier: Apache-2.0
// Search guided by a learned cost model: gradient-boosted trees predict the time, or how far the
// cost model's estimate of it is off, from the program, the problem and what was measured; the
// program with the smallest predicted time is next, but for a share of exploration. Pretrained, a
// first model of other shapes' trials is there before anything is measured, and the second learns
// what that one gets wrong.
#include "policy/features.h"
#include "policy/ranking.h"
#include "policy/searcher.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace tilewright {
namespace {

constexpr double kFailure = 0.5;  // a failure counts as this much (log) slower than the slowest
constexpr std::size_t kMostRows = 20000;  // of other shapes
constexpr int kDraws = 200;               // candidates in a space that is no table: uniform,
constexpr int kChildren = 200;            // and near the fittest
constexpr std::size_t kParents = 8;
constexpr std::size_t kLaziness = 16;
constexpr std::size_t kRanked = 300;  // from the cost model

double log_estimate(const Program& program, const Problem& problem, const Device& device) {
  return std::log(std::max(estimate_seconds(program, problem, device), 1e-12));
}

// Other shapes' rows, each problem's around its own median: what holds for a problem as a whole
// does not order its programs.
std::shared_ptr<const BoostedTrees> pretrain(const Experience& experience, const Device& device,
                                             const TreeOptions& options, double trust) {
  std::map<std::string, std::vector<const Known*>> by_problem;
  const std::vector<Known>& known = experience.known();
  const std::size_t stride = known.size() / kMostRows + 1;
  for (std::size_t i = 0; i < known.size(); i += stride) {
    by_problem[to_text(known[i].problem)].push_back(&known[i]);
  }
  FeatureRows rows = no_features();
  std::vector<float> targets;
  for (const auto& [text, group] : by_problem) {
    std::vector<double> off, right;
    for (const Known* k : group) {
      const double estimate = log_estimate(k->program, k->problem, device);
      off.push_back(k->ok ? -std::log(k->fitness) - trust * estimate : std::nan(""));
      if (k->ok) right.push_back(off.back());
    }
    if (right.empty()) continue;
    std::ranges::sort(right);
    const double middle = right[right.size() / 2];
    for (std::size_t i = 0; i < group.size(); ++i) {
      const Program& program = group[i]->program;
      add_features(rows, program, group[i]->problem,
                   log_estimate(program, group[i]->problem, device));
      const double target = group[i]->ok ? off[i] : right.back() + kFailure;
      targets.push_back(static_cast<float>(target - middle));
    }
  }
  if (targets.empty()) return nullptr;
  auto fitted = BoostedTrees::fit(rows, targets, options);
  return fitted ? *fitted : nullptr;
}

class BoostPolicy final : public Searcher {
 public:
  BoostPolicy(PolicyContext context, bool pretrained)
      : Searcher(pretrained ? "boost" : "boost-cold", std::move(context), 6) {
    if (pretrained) {
      prior_ = context_.experience->derived<BoostedTrees>([this] {
        return pretrain(*context_.experience, context_.device, options(2), knob("trust"));
      });
    }
    start_with(pretrained ? knob_count("transfers") : 0, 1, prior_ ? 0 : knob_count("start"));
  }

 private:
  struct Candidate {
    double cost = 0;  // logarithm of the predicted time, up to a constant
    Program program;
  };

  // There are more rows of other shapes, which carry more trees.
  [[nodiscard]] TreeOptions options(int more) const {
    return {static_cast<int>(knob_count("rounds")) * more, static_cast<int>(knob_count("depth")),
            knob("rate")};
  }

  void learn(const Measured& /*result*/) override { ++since_; }

  std::optional<Program> wish() override {
    if (rng_.uniform() < knob("explore")) return pool_.sample(rng_);
    if (candidates_.empty() || since_ >= refit()) refresh();
    while (!candidates_.empty()) {
      Program program = std::move(candidates_.back().program);
      candidates_.pop_back();
      if (!pool_.taken(program)) return program;
    }
    return std::nullopt;
  }

  // The more is known, the less a few more results change.
  [[nodiscard]] std::size_t refit() const {
    return std::max(knob_count("refit"), measured().size() / kLaziness);
  }

  [[nodiscard]] double estimate(const Program& program) const {
    return log_estimate(program, context_.problem, context_.device);
  }

  // Fits to what was measured and ranks the candidates anew, the best last.
  void refresh() {
    since_ = 0;
    fit();
    std::vector<Program> programs = draw_candidates();
    FeatureRows rows = no_features();
    std::vector<double> estimates;
    for (const Program& program : programs) {
      estimates.push_back(estimate(program));
      add_features(rows, program, context_.problem, estimates.back());
    }
    const std::vector<float> before = prior_ ? prior_->predict(rows) : std::vector<float>();
    const std::vector<float> own = own_ ? own_->predict(rows) : std::vector<float>();
    candidates_.clear();
    for (std::size_t i = 0; i < programs.size(); ++i) {
      const double cost = knob("trust") * estimates[i] + (before.empty() ? 0 : before[i]) +
                          (own.empty() ? 0 : own[i]);
      candidates_.push_back({cost, std::move(programs[i])});
    }
    std::ranges::stable_sort(candidates_, std::ranges::greater(), &Candidate::cost);
  }

  void fit() {
    own_.reset();
    if (ranking().empty() || measured().size() < 2) return;
    FeatureRows rows = no_features();
    std::vector<double> costs;
    for (const Measured& m : measured()) {
      const double guess = estimate(m.program);
      add_features(rows, m.program, context_.problem, guess);
      costs.push_back(knob("trust") * guess);
    }
    if (prior_) {
      const std::vector<float> before = prior_->predict(rows);
      for (std::size_t i = 0; i < before.size(); ++i) costs[i] += before[i];
    }
    const double slowest = -std::log(measured()[ranking().back()].fitness) + kFailure;
    std::vector<float> targets;
    double mean = 0;
    for (std::size_t i = 0; i < costs.size(); ++i) {
      const double fitness = measured()[i].fitness;
      targets.push_back(
          static_cast<float>((fitness > 0 ? -std::log(fitness) : slowest) - costs[i]));
      mean += targets.back();
    }
    mean /= static_cast<double>(targets.size());
    for (float& target : targets) target -= static_cast<float>(mean);
    if (auto fitted = BoostedTrees::fit(rows, targets, options(1))) own_ = *std::move(fitted);
  }

  // Not taken, each once. In replay, the whole table.
  std::vector<Program> draw_candidates() {
    std::vector<Program> out;
    Seen mine;
    const auto add = [&](const Program& program) {
      if (!pool_.taken(program) && mine.add(program)) out.push_back(program);
    };
    if (const ProgramSet* table = pool_.only()) {
      for (const Program& program : table->programs()) add(program);
      return out;
    }
    if (ranked_.empty()) {
      ranked_ = rank_sample(pool_.spaces(), context_, pool_.seen(), rng_);
      if (ranked_.size() > kRanked) ranked_.resize(kRanked, ranked_.front());
    }
    for (const Ranked& r : ranked_) add(r.program);
    for (int i = 0; i < kDraws; ++i) {
      if (auto program = pool_.sample(rng_)) add(*program);
    }
    const std::size_t parents = std::min(kParents, ranking().size());
    for (int i = 0; parents > 0 && i < kChildren; ++i) {
      auto child = pool_.mutate(measured()[ranking()[rng_.below(parents)]].program, rng_);
      if (child) add(*child);
    }
    return out;
  }

  std::shared_ptr<const BoostedTrees> prior_, own_;
  std::vector<Candidate> candidates_;  // the best last
  std::vector<Ranked> ranked_;
  std::size_t since_ = 0;  // results since the last fit
};

}  // namespace

Result<std::unique_ptr<Policy>> make_boost(PolicyContext context, bool pretrained) {
  if (Status status = BoostedTrees::available(); !status) return tl::unexpected(status.error());
  return std::make_unique<BoostPolicy>(std::move(context), pretrained);
}

}  // namespace tilewright
