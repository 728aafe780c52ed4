// SPDX-License-Identifier: Apache-2.0
// Evolution: the first proposals come from the cost model, later ones are children of the fastest
// programs seen so far. Tuned programs of other shapes, where history has them, are tried early:
// nearest-shape transfer is a cheap and strong start.
#include "policy/proposers.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tilewright {
namespace {

constexpr std::size_t kSeeds = 8;      // from the cost model, before any child
constexpr std::size_t kElite = 8;      // parents
constexpr std::size_t kTransfers = 4;  // winners of the nearest shapes
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

// Distance of two shapes: log2 per axis, so that 64x4096x64 is not 4096x64x64.
double distance(const Problem& a, const Problem& b) {
  const auto axis = [](std::int64_t x, std::int64_t y) {
    return std::abs(std::log2(static_cast<double>(std::max<std::int64_t>(x, 1))) -
                    std::log2(static_cast<double>(std::max<std::int64_t>(y, 1))));
  };
  const bool same_kind = a.in == b.in && a.out == b.out && a.a_transposed == b.a_transposed &&
                         a.b_transposed == b.b_transposed;
  return axis(a.m, b.m) + axis(a.n, b.n) + axis(a.k, b.k) + (same_kind ? 0 : 100);
}

class EvolvePolicy final : public Policy {
 public:
  explicit EvolvePolicy(PolicyContext context)
      : context_(std::move(context)),
        spaces_(legal_spaces(context_.problem, context_.device)),
        model_(make_analytic(context_)),
        rng_(context_.seed, 1) {
    collect_transfers();
  }

  std::vector<Program> propose(std::size_t count) override {
    std::vector<Program> out;
    while (out.size() < count) {
      std::optional<Program> program = next();
      if (!program) break;
      out.push_back(*std::move(program));
    }
    return out;
  }

  void observe(const Trial& trial) override {
    seen_.add_text(trial.program);
    model_->observe(trial);
    if (trial.outcome != Outcome::ok) return;
    Result<Program> program = parse_program(trial.program);
    if (!program || !is_legal(*program, context_.problem, context_.device)) return;
    // The ratio to a baseline timed in the same minute is steadier than the time.
    const double fitness = trial.speedup() > 0 ? trial.speedup() : 1 / trial.time_us;
    elite_.emplace_back(fitness, *std::move(program));
    std::ranges::stable_sort(elite_,
                             [](const auto& a, const auto& b) { return a.first > b.first; });
    if (elite_.size() > kElite) elite_.resize(kElite, elite_.front());
  }

  [[nodiscard]] std::string_view name() const override { return "evolve"; }

 private:
  void collect_transfers() {
    struct Near {
      double distance, speedup;
      Program program;
    };
    std::vector<Near> near;
    for (const Trial& trial : context_.history) {
      if (trial.outcome != Outcome::ok || trial.stage != "final") continue;
      const auto problem = parse_problem(trial.problem);
      auto program = parse_program(trial.program);
      if (!problem || !program || *problem == context_.problem) continue;
      if (!is_legal(*program, context_.problem, context_.device)) continue;
      near.push_back({distance(*problem, context_.problem), trial.speedup(), *std::move(program)});
    }
    std::ranges::stable_sort(near, [](const Near& a, const Near& b) {
      return a.distance != b.distance ? a.distance < b.distance : a.speedup > b.speedup;
    });
    for (Near& n : near) {
      if (transfers_.size() < kTransfers) transfers_.push_back(std::move(n.program));
    }
  }

  std::optional<Program> next() {
    while (!transfers_.empty()) {
      Program program = std::move(transfers_.front());
      transfers_.erase(transfers_.begin());
      if (seen_.add(program)) return program;
    }
    if (seeds_ < kSeeds || elite_.empty()) {
      if (auto seed = from_model()) {
        ++seeds_;
        return seed;
      }
    }
    for (int attempt = 0; attempt < kTries && !elite_.empty(); ++attempt) {
      std::optional<Program> child = make_child(draw_move(rng_));
      if (child && seen_.add(*child)) return child;
    }
    return from_model();
  }

  std::optional<Program> from_model() {
    for (int attempt = 0; attempt < kTries; ++attempt) {
      std::vector<Program> one = model_->propose(1);
      if (one.empty()) return std::nullopt;
      if (seen_.add(one.front())) return std::move(one.front());
    }
    return std::nullopt;
  }

  // Tournament of two: the better of two random elite members.
  const Program& parent() {
    const std::size_t a = rng_.below(elite_.size()), b = rng_.below(elite_.size());
    return elite_[std::min(a, b)].second;
  }

  const Space& space_of(const Program& program) const {
    return *std::ranges::find_if(spaces_,
                                 [&](const Space& s) { return &s.family() == &program.family(); });
  }

  std::optional<Program> make_child(Move move) {
    switch (move) {
      case Move::mutate: {
        const Program& from = parent();
        return mutate(space_of(from), from, rng_);
      }
      case Move::neighbour: {
        const Program& from = parent();
        std::vector<Program> all = neighbours(space_of(from), from);
        if (all.empty()) return std::nullopt;
        return all[rng_.below(all.size())];
      }
      case Move::cross: {
        const Program& a = parent();
        const Program& b = parent();
        if (&a.family() != &b.family()) return std::nullopt;
        return crossover(space_of(a), a, b, rng_);
      }
      case Move::model:
        return from_model_unseen();
      case Move::uniform:
        return sample_any(spaces_, rng_);
    }
    return std::nullopt;
  }

  std::optional<Program> from_model_unseen() {
    std::vector<Program> one = model_->propose(1);
    return one.empty() ? std::nullopt : std::optional(std::move(one.front()));
  }

  PolicyContext context_;
  std::vector<Space> spaces_;
  std::unique_ptr<Policy> model_;
  Rng rng_;
  Seen seen_;
  std::vector<Program> transfers_;
  std::vector<std::pair<double, Program>> elite_;  // best first
  std::size_t seeds_ = 0;
};

}  // namespace

std::unique_ptr<Policy> make_evolve(PolicyContext context) {
  return std::make_unique<EvolvePolicy>(std::move(context));
}

}  // namespace tilewright
