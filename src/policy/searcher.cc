// SPDX-License-Identifier: Apache-2.0
// See searcher.h.
#include "policy/searcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tilewright {
namespace {

constexpr int kTries = 40;  // wishes for one proposal before a uniform draw

}  // namespace

Searcher::Searcher(std::string_view name, PolicyContext context, std::uint64_t stream)
    : context_(std::move(context)), pool_(context_), rng_(context_.seed, stream), name_(name) {}

void Searcher::start_with(std::size_t winners, std::size_t per_shape, std::size_t uniform) {
  uniform_starts_ = uniform;
  if (winners == 0) return;
  for (const Program& winner : winners_near(*context_.experience, context_.problem, per_shape)) {
    if (starts_.size() == winners) break;
    std::optional<Program> here = pool_.adopt(winner, rng_);
    if (here && std::ranges::find(starts_, *here) == starts_.end()) {
      starts_.push_back(*std::move(here));
    }
  }
}

std::vector<Program> Searcher::propose(std::size_t count) {
  return up_to(count, [this] { return next(); });
}

std::optional<Program> Searcher::next() {
  while (!starts_.empty()) {
    const Program program = std::move(starts_.front());
    starts_.pop_front();
    if (pool_.take(program)) return program;
  }
  if (uniform_starts_ > 0) {
    --uniform_starts_;
    return pool_.take_any(rng_);
  }
  for (int attempt = 0; attempt < kTries; ++attempt) {
    std::optional<Program> program = wish();
    if (!program) break;
    if (pool_.take(*program)) return program;
  }
  return pool_.take_any(rng_);
}

void Searcher::observe(const Trial& trial) {
  pool_.take_text(trial.program);
  Result<Program> program = parse_program(trial.program);
  if (!program || !pool_.allows(*program)) return;
  measured_.push_back({*std::move(program), fitness_of(trial)});
  if (measured_.back().fitness > 0) {
    const auto place =
        std::ranges::upper_bound(ranking_, measured_.back().fitness, std::ranges::greater(),
                                 [this](std::size_t i) { return measured_[i].fitness; });
    ranking_.insert(place, measured_.size() - 1);
  }
  learn(measured_.back());
}

// Variants of a policy, "name-variant", share its knobs.
double Searcher::knob(std::string_view word) const {
  return context_.knobs[fmt::format("{}.{}", name_.substr(0, name_.find('-')), word)];
}

std::size_t Searcher::knob_count(std::string_view word) const {
  return static_cast<std::size_t>(std::max(0.0, std::round(knob(word))));
}

}  // namespace tilewright
