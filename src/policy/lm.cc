// SPDX-License-Identifier: Apache-2.0
// The language model as a policy: rounds of samples, each shown programs of this search with their
// scores, and updates of the weights between them (docs/policy.md). The model itself is in another
// process (learner.h). When that is lost twice, the search goes on with uniform draws and says so
// in its name, which every trial records.
#include "policy/exemplars.h"
#include "policy/learner.h"
#include "policy/pool.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <map>

namespace tilewright {
namespace {

constexpr int kDryRounds = 4;    // rounds with nothing new, each hotter, before a uniform draw
constexpr double kHotter = 1.4;  // factor of the temperature after such a round
constexpr std::uint64_t kStream = 11;

class LanguagePolicy final : public Policy {
 public:
  explicit LanguagePolicy(PolicyContext context)
      : context_(std::move(context)), pool_(context_), rng_(context_.seed, kStream) {}

  Status connect() {
    Result<std::unique_ptr<Learner>> learner = Learner::start(context_.learner);
    if (!learner) return tl::unexpected(learner.error());
    std::vector<std::string> texts;
    if (context_.only) {
      for (const Program& program : context_.only->programs()) texts.push_back(program.text());
    }
    const Status begun =
        (*learner)->begin(context_.problem, context_.device, context_.only ? &texts : nullptr);
    if (begun) learner_ = *std::move(learner);
    return begun;
  }

  std::vector<Program> propose(std::size_t count) override {
    return up_to(count, [this] { return next(); });
  }

  void observe(const Trial& trial) override {
    pool_.take_text(trial.program);
    trials_.push_back(trial);
    if (trial.outcome == Outcome::ok && trial.time_us > 0) best_ = std::min(best_, trial.time_us);
    const std::size_t every = knob_count("lm.learn");
    if (every > 0 && ++unlearned_ >= every && learner_) {
      unlearned_ = 0;
      if (!learner_->learn(trials_, static_cast<int>(knob_count("lm.steps")))) reconnect();
    }
  }

  [[nodiscard]] std::string_view name() const override { return lost_ ? "lm-lost" : "lm"; }

 private:
  [[nodiscard]] std::size_t knob_count(std::string_view name) const {
    return static_cast<std::size_t>(std::max(0.0, std::round(context_.knobs[name])));
  }

  std::optional<Program> next() {
    if (rng_.uniform() < context_.knobs["lm.explore"]) return pool_.take_any(rng_);
    double temperature = context_.knobs["lm.temperature"];
    for (int dry = 0; dry < kDryRounds && !lost_;) {
      while (!round_.empty()) {
        const Program program = std::move(round_.front());
        round_.pop_front();
        if (pool_.take(program)) return program;
      }
      if (!sample(temperature)) continue;
      if (!round_.empty()) continue;
      ++dry;
      temperature *= kHotter;
    }
    return pool_.take_any(rng_);
  }

  // Fills the round with new programs. False if the process had to be started anew.
  bool sample(double temperature) {
    SampleRequest request;
    request.exemplars = exemplars();
    request.n = knob_count("lm.samples");
    request.temperature = temperature;
    request.seed = rng_.next64() >> 12U;  // survives any JSON reader
    const Result<std::vector<Sampled>> drawn = learner_->sample(request);
    if (!drawn) {
      reconnect();
      return false;
    }
    std::vector<Sampled> fresh;
    std::map<std::string, std::size_t> seen;
    for (const Sampled& s : *drawn) {
      if (seen.try_emplace(s.program, fresh.size()).second) fresh.push_back(s);
    }
    if (context_.knobs["lm.rank"] > 0.5) {
      std::ranges::stable_sort(fresh, std::ranges::greater(), &Sampled::logprob);
    }
    const std::size_t most = knob_count("lm.round");
    for (const Sampled& s : fresh) {
      if (round_.size() >= most) break;
      Result<Program> program = parse_program(s.program);
      if (program && pool_.allows(*program) && !pool_.taken(*program)) {
        round_.push_back(*std::move(program));
      }
    }
    return true;
  }

  // Own results; before there are any, those of the nearest recorded shape.
  std::vector<Shown> exemplars() {
    std::vector<Shown> known;
    const double reference = std::isfinite(best_) ? best_ : 0;
    for (const Trial& trial : trials_) {
      const Score score = score_of(trial, reference);
      if (score.ok) known.push_back({trial.problem, trial.program, score.value, trial.profile});
    }
    if (known.empty() && context_.knobs["lm.transfers"] > 0.5) known = of_nearest();
    std::vector<double> scores;
    for (const Shown& shown : known) scores.push_back(shown.score);
    std::vector<Shown> out;
    for (const std::size_t i : contrastive(scores, knob_count("lm.exemplars"), rng_)) {
      out.push_back(known[i]);
    }
    return out;
  }

  [[nodiscard]] std::vector<Shown> of_nearest() const {
    double nearest = std::numeric_limits<double>::infinity(), best = 0;
    std::vector<const Known*> all;
    for (const Known& known : context_.experience->known()) {
      if (!known.ok || known.problem == context_.problem) continue;
      const double distance = shape_distance(known.problem, context_.problem);
      if (distance > nearest) continue;
      if (distance < nearest) all.clear(), best = 0;
      nearest = distance;
      best = std::max(best, known.fitness);
      all.push_back(&known);
    }
    std::vector<Shown> out;
    for (const Known* known : all) {
      const double base = known->paired ? 1 : best;
      out.push_back({to_text(known->problem), known->program.text(),
                     std::log(known->fitness / base), known->profile});
    }
    return out;
  }

  // Updates are lost with the process.
  void reconnect() {
    learner_.reset();
    if (restarts_++ > 0 || !connect()) lost_ = true;
  }

  PolicyContext context_;
  Pool pool_;
  Rng rng_;
  std::unique_ptr<Learner> learner_;
  std::vector<Trial> trials_;  // of this search
  std::deque<Program> round_;
  double best_ = std::numeric_limits<double>::infinity();
  std::size_t unlearned_ = 0;
  int restarts_ = 0;
  bool lost_ = false;
};

}  // namespace

Result<std::unique_ptr<Policy>> make_language(PolicyContext context) {
  auto policy = std::make_unique<LanguagePolicy>(std::move(context));
  if (Status status = policy->connect(); !status) return tl::unexpected(status.error());
  return policy;
}

}  // namespace tilewright
