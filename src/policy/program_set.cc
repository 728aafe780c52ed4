// SPDX-License-Identifier: Apache-2.0
// See program_set.h.
#include "policy/program_set.h"

#include <cstdlib>
#include <limits>

namespace tilewright {
namespace {

constexpr double kOtherFamily = 1000;
// Two values of one decision differ by 1, and by up to this much more the farther apart they stand
// in the vocabulary, where numbers are in order.
constexpr double kFar = 0.5;

}  // namespace

ProgramSet::ProgramSet(const Problem& problem, const Device& device,
                       std::span<const Program> programs) {
  for (const Program& program : programs) {
    if (!is_legal(program, problem, device)) continue;
    if (index_.try_emplace(program.text(), programs_.size()).second) programs_.push_back(program);
  }
  for (const Family* family : families()) {
    Space space(*family, problem, device, programs_);
    if (space.count() > 0) spaces_.push_back(std::move(space));
  }
}

std::optional<std::size_t> ProgramSet::find(const std::string& text) const {
  const auto found = index_.find(text);
  return found == index_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::size_t> ProgramSet::find(const Program& program) const {
  return find(program.text());
}

std::optional<std::size_t> ProgramSet::nearest(const Choices& wish,
                                               std::span<const std::uint8_t> moved,
                                               std::span<const std::uint8_t> taken,
                                               Rng& rng) const {
  const std::vector<Decision>& decisions = wish.family().decisions;
  std::optional<std::size_t> best;
  double least = std::numeric_limits<double>::infinity();
  std::uint64_t ties = 0;
  for (std::size_t i = 0; i < programs_.size(); ++i) {
    if (taken[i] != 0) continue;
    const Choices& other = programs_[i].choices();
    double distance = &other.family() == &wish.family() ? 0 : kOtherFamily;
    for (std::size_t d = 0; d < decisions.size() && distance <= least; ++d) {
      const Choice a = wish.at(d), b = other.at(d);
      if (a == b || distance >= kOtherFamily) continue;
      const double weight = !moved.empty() && moved[d] != 0 ? 2 : 1;
      const double apart = a < 0 || b < 0 ? 0 : std::abs(a - b);
      distance += weight * (1 + kFar * apart / static_cast<double>(decisions[d].values.size()));
    }
    if (distance > least) continue;
    ties = distance < least ? 1 : ties + 1;
    least = distance;
    if (ties == 1 || rng.below(ties) == 0) best = i;
  }
  return best;
}

}  // namespace tilewright
