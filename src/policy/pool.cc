// SPDX-License-Identifier: Apache-2.0
// See pool.h.
#include "policy/pool.h"

#include <algorithm>

namespace tilewright {
namespace {

constexpr int kMisses = 1000;  // known draws in a row before a space counts as dry

bool has_family(const std::vector<Space>& spaces, const Program& program) {
  return std::ranges::any_of(
      spaces, [&](const Space& space) { return &space.family() == &program.family(); });
}

}  // namespace

Pool::Pool(const PolicyContext& context) : context_(context), only_(context.only) {
  if (only_) {
    gone_.resize(only_->programs().size(), 0);
  } else {
    own_ = legal_spaces(context.problem, context.device);
  }
}

const Space& Pool::space_of(const Program& program) const {
  return *std::ranges::find_if(
      spaces(), [&](const Space& space) { return &space.family() == &program.family(); });
}

bool Pool::allows(const Program& program) const {
  if (only_) return only_->find(program).has_value();
  return is_legal(program, context_.problem, context_.device);
}

bool Pool::take(const Program& program) {
  if (only_) {
    const auto at = only_->find(program);
    if (!at) return false;
    gone_[*at] = 1;
  }
  return seen_.add(program);
}

void Pool::take_text(const std::string& text) {
  seen_.add_text(text);
  if (!only_) return;
  if (const auto at = only_->find(text)) gone_[*at] = 1;
}

std::optional<Program> Pool::sample(Rng& rng) const {
  if (!only_) return sample_any(own_, rng);
  const auto programs = only_->programs();
  if (programs.empty()) return std::nullopt;
  return programs[rng.below(programs.size())];
}

std::optional<Program> Pool::take_any(Rng& rng) {
  if (only_) {
    const auto left = static_cast<std::uint64_t>(std::ranges::count(gone_, std::uint8_t{0}));
    if (left == 0) return std::nullopt;
    std::uint64_t skip = rng.below(left);
    for (std::size_t i = 0; i < gone_.size(); ++i) {
      if (gone_[i] != 0 || skip-- > 0) continue;
      take(only_->programs()[i]);
      return only_->programs()[i];
    }
  }
  for (int misses = 0; misses < kMisses; ++misses) {
    std::optional<Program> program = sample_any(own_, rng);
    if (!program || take(*program)) return program;
  }
  return std::nullopt;
}

std::optional<Program> Pool::nearest(const Choices& wish, std::span<const std::uint8_t> moved,
                                     Rng& rng) const {
  const auto at = only_->nearest(wish, moved, gone_, rng);
  return at ? std::optional(only_->programs()[*at]) : std::nullopt;
}

std::optional<Program> Pool::mutate(const Program& from, Rng& rng) const {
  if (!only_) return tilewright::mutate(space_of(from), from, rng);
  Choices wish = from.choices();
  const std::vector<Decision>& decisions = wish.family().decisions;
  std::vector<std::uint8_t> moved(decisions.size(), 0);
  const std::uint64_t moves = 1 + rng.below(3);
  for (std::uint64_t j = 0; j < moves; ++j) {
    const std::size_t d = rng.below(decisions.size());
    if (wish.at(d) < 0) continue;
    moved[d] = 1;
    wish.set(d, static_cast<Choice>(rng.below(decisions[d].values.size())));
  }
  return nearest(wish, moved, rng);
}

std::optional<Program> Pool::neighbour(const Program& from, Rng& rng) const {
  if (only_) return nearest(from.choices(), {}, rng);
  std::vector<Program> all = neighbours(space_of(from), from);
  if (all.empty()) return std::nullopt;
  return all[rng.below(all.size())];
}

std::optional<Program> Pool::cross(const Program& a, const Program& b, Rng& rng) const {
  if (&a.family() != &b.family()) return std::nullopt;
  if (!only_) return crossover(space_of(a), a, b, rng);
  Choices wish = a.choices();
  for (std::size_t d = 0; d < wish.family().decisions.size(); ++d) {
    const Choice other = b.choices().at(d);
    if (wish.at(d) < 0 ? other >= 0 : other >= 0 && rng.below(2) == 0) wish.set(d, other);
  }
  return nearest(wish, {}, rng);
}

std::optional<Program> Pool::adopt(const Program& program, Rng& rng) const {
  if (allows(program)) return program;
  if (only_) return nearest(program.choices(), {}, rng);
  if (!has_family(own_, program)) return std::nullopt;
  std::vector<std::pair<std::string_view, std::string_view>> wishes;
  for (const Decision& decision : program.family().decisions) {
    const std::string_view word = program.word(decision.key);
    if (!word.empty()) wishes.emplace_back(decision.key, word);
  }
  return nearest_legal(space_of(program), wishes);
}

}  // namespace tilewright
