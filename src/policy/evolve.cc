// SPDX-License-Identifier: Apache-2.0
// Evolution: children of the fastest programs seen so far. It starts from the winners of the
// nearest shapes that history holds (transfer is a cheap and strong start), from expert programs,
// and from the cost model's best of each kind; for a product on a GPU from the diverse front that
// the policy analytic has (lineup.h), which finds more with 16 measurements than children do.
#include "policy/experts.h"
#include "policy/lineup.h"
#include "policy/pool.h"
#include "policy/ranking.h"

#include <algorithm>
#include <array>
#include <map>

namespace tilewright {
namespace {

constexpr std::size_t kSeeds = 4;      // from the cost model, before any child
constexpr int kSeedDistance = 3;       // decisions in which two seeds differ at least
constexpr double kWorthTrying = 3;     // a kind estimated this much slower than the best is left
constexpr std::size_t kElite = 8;      // parents
constexpr std::size_t kTransfers = 4;  // winners of the nearest shapes
constexpr std::size_t kScreened = 1;   // of a shape where nothing was timed in full
constexpr int kTries = 40;             // draws per proposal before giving up

// How a child is made, and how often.
enum class Move { mutate, neighbour, cross, model, uniform };
constexpr std::array<std::pair<Move, double>, 5> kMoves = {{{Move::mutate, 0.40},
                                                            {Move::neighbour, 0.25},
                                                            {Move::cross, 0.15},
                                                            {Move::model, 0.15},
                                                            {Move::uniform, 0.05}}};

Move draw_move(Rng& rng) {
  double at = rng.uniform();
  for (const auto& [move, share] : kMoves) {
    if (at < share) return move;
    at -= share;
  }
  return Move::uniform;
}

// Decisions in which two programs differ; of different families, more than any limit.
int distance(const Program& a, const Program& b) {
  if (&a.family() != &b.family()) return 1000;
  int differing = 0;
  for (std::size_t i = 0; i < a.family().decisions.size(); ++i) {
    differing += a.choices().at(i) != b.choices().at(i) ? 1 : 0;
  }
  return differing;
}

class EvolvePolicy final : public Policy {
 public:
  explicit EvolvePolicy(PolicyContext context)
      : context_(std::move(context)), pool_(context_), rng_(context_.seed, 1) {
    starts_ = transfers();
    const auto after_first = static_cast<std::ptrdiff_t>(std::min<std::size_t>(2, starts_.size()));
    const std::vector<Program> known = front();
    starts_.insert(starts_.begin() + after_first, known.begin(), known.end());
  }

  std::vector<Program> propose(std::size_t count) override {
    return up_to(count, [this] { return next(); });
  }

  void observe(const Trial& trial) override {
    pool_.take_text(trial.program);
    if (trial.outcome != Outcome::ok) return;
    Result<Program> program = parse_program(trial.program);
    if (!program || !pool_.allows(*program)) return;
    elite_.emplace_back(fitness_of(trial), *std::move(program));
    std::ranges::stable_sort(elite_,
                             [](const auto& a, const auto& b) { return a.first > b.first; });
    if (elite_.size() > kElite) elite_.resize(kElite, elite_.front());
  }

  [[nodiscard]] std::string_view name() const override { return "evolve"; }

 private:
  // Winners of the nearest shapes, nearest first.
  [[nodiscard]] std::vector<Program> transfers() const {
    std::vector<Program> out;
    for (Program& winner : winners_near(*context_.experience, context_.problem, kScreened)) {
      if (out.size() == kTransfers) break;
      if (pool_.allows(winner)) out.push_back(std::move(winner));
    }
    return out;
  }

  // What is known to be good for such problems.
  std::vector<Program> front() {
    if (context_.device.kind != DeviceKind::cuda || !context_.problem.is_gemm()) {
      return expert_programs(pool_.spaces(), context_);
    }
    refill();
    return lineup(context_.problem, context_.device, ranked_, kDiversePlaces);
  }

  std::optional<Program> next() {
    while (next_start_ < starts_.size()) {
      Program program = starts_[next_start_++];
      if (pool_.take(program)) return program;
    }
    if (seeds_.size() < kSeeds || elite_.empty()) {
      if (auto seed = next_seed()) return seed;
    }
    for (int attempt = 0; attempt < kTries && !elite_.empty(); ++attempt) {
      std::optional<Program> child = make_child(draw_move(rng_));
      if (child && pool_.take(*child)) return child;
    }
    return best_ranked();
  }

  // Seeds cover the kinds: the cost model ranks well within a kind and less well between them. Each
  // time the kind with the fewest seeds gives its best program that is not like an earlier seed.
  std::optional<Program> next_seed() {
    refill();
    const Ranked* best = nullptr;
    for (const Ranked& r : ranked_) {
      if (r.seconds > kWorthTrying * ranked_.front().seconds) break;
      const bool alike = std::ranges::any_of(
          seeds_, [&](const Program& seed) { return distance(seed, r.program) < kSeedDistance; });
      if (alike || pool_.taken(r.program)) continue;
      if (best == nullptr || kinds_[r.kind] < kinds_[best->kind]) best = &r;
    }
    if (best == nullptr) return best_ranked();
    ++kinds_[best->kind];
    seeds_.push_back(best->program);
    pool_.take(best->program);
    return best->program;
  }

  // The best of the ranking that was not proposed yet.
  std::optional<Program> best_ranked() {
    for (;;) {
      refill();
      if (ranked_.empty()) return std::nullopt;
      Program program = ranked_[next_ranked_++].program;
      if (pool_.take(program)) return program;
    }
  }

  void refill() {
    if (next_ranked_ < ranked_.size()) return;
    if (dry_) {
      ranked_.clear();
      return;
    }
    ranked_ = rank_sample(pool_.spaces(), context_, pool_.seen(), rng_);
    next_ranked_ = 0;
    dry_ = ranked_.empty();
  }

  // Tournament of two: the better of two random elite members.
  const Program& parent() {
    const std::size_t a = rng_.below(elite_.size()), b = rng_.below(elite_.size());
    return elite_[std::min(a, b)].second;
  }

  std::optional<Program> make_child(Move move) {
    switch (move) {
      case Move::mutate: {
        const Program& from = parent();
        return pool_.mutate(from, rng_);
      }
      case Move::neighbour: {
        const Program& from = parent();
        return pool_.neighbour(from, rng_);
      }
      case Move::cross: {
        const Program& a = parent();
        const Program& b = parent();
        return pool_.cross(a, b, rng_);
      }
      case Move::model:
        return best_ranked_unseen();
      case Move::uniform:
        return pool_.sample(rng_);
    }
    return std::nullopt;
  }

  // As best_ranked(), for make_child(), whose caller notes what was seen.
  std::optional<Program> best_ranked_unseen() {
    refill();
    while (next_ranked_ < ranked_.size() && pool_.taken(ranked_[next_ranked_].program)) {
      ++next_ranked_;
    }
    if (next_ranked_ >= ranked_.size()) return std::nullopt;
    return ranked_[next_ranked_].program;
  }

  PolicyContext context_;
  Pool pool_;
  Rng rng_;
  std::vector<Program> starts_;  // transfers and experts
  std::size_t next_start_ = 0;
  std::vector<std::pair<double, Program>> elite_;  // best first
  std::vector<Program> seeds_;
  std::map<std::string, int> kinds_;  // seeds per kind
  std::vector<Ranked> ranked_;
  std::size_t next_ranked_ = 0;
  bool dry_ = false;
};

}  // namespace

std::unique_ptr<Policy> make_evolve(PolicyContext context) {
  return std::make_unique<EvolvePolicy>(std::move(context));
}

}  // namespace tilewright
