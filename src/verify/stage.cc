// SPDX-License-Identifier: Apache-2.0
// Filling the arena and noticing what changed; see stage.h.
#include "verify/stage.h"

#include "base/hash.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

namespace tilewright {
namespace {

std::string digest(std::span<const std::byte> bytes) {
  return hash128({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace

Stage::Stage(const Arena& arena, Owner owner)
    : arena_(arena), owner_(owner), sets_(static_cast<std::size_t>(arena.layout().sets)) {}

void Stage::place(int set, const Operands& operands) {
  put(view_b(arena_, set), operands.b);
  sets_[static_cast<std::size_t>(set)].b = digest(arena_.b(set));
  place_a(set, operands.a);
}

void Stage::place_a(int set, std::span<const std::byte> a) {
  put(view_a(arena_, set), a);
  sets_[static_cast<std::size_t>(set)].a = digest(arena_.a(set));
  if (set != last_) {
    other_ = last_;
    last_ = set;
  }
}

void Stage::fill_c(int set, Fill fill, std::uint64_t seed) {
  Placed& placed = sets_[static_cast<std::size_t>(set)];
  const Strided c = view_c(arena_, set, owner_);
  if (fill == Fill::nan) {
    fill_nan(c);
    placed.before = get(c);
  } else {
    const DataKind like = fill == Fill::damped ? DataKind::damped : DataKind::normal;
    placed.before = fill == Fill::even ? even_c(arena_.problem(), seed)
                                       : plausible_c(arena_.problem(), seed, like);
    put(c, placed.before);
  }
  accept_c(set);
}

void Stage::scrub_workspace(std::uint64_t number) const {
  const std::span<std::byte> space = arena_.workspace();
  if (number % 3 != 1) {
    // 0xff.. is NaN in f16, bf16 and f32; 0x3c.. is 1.06, 0.011 and 0.011.
    std::ranges::fill(space, number % 3 == 0 ? std::byte{0xff} : std::byte{0x3c});
    return;
  }
  std::size_t at = 0;
  for (std::uint64_t word = number; at + sizeof word <= space.size(); at += sizeof word) {
    const std::uint64_t mixed = (at + number) * 0x9e3779b97f4a7c15U;
    word = mixed ^ (mixed >> 29);
    std::memcpy(space.data() + at, &word, sizeof word);
  }
  std::ranges::fill(space.subspan(at), std::byte{0xa7});
}

void Stage::accept_c(int set) {
  sets_[static_cast<std::size_t>(set)].c = digest(arena_.c(set, owner_));
}

std::span<const std::byte> Stage::before(int set) const {
  return sets_[static_cast<std::size_t>(set)].before;
}

Finding Stage::surroundings_intact(int set) const {
  if (auto broken = arena_.broken_guard(set)) {
    return {Outcome::out_of_bounds, "guards", fmt::format("operand set {}: {}", set, *broken)};
  }
  const Placed& placed = sets_[static_cast<std::size_t>(set)];
  const auto changed = [&](const char* name) {
    return Finding{
        Outcome::cheat, "inputs-unchanged",
        fmt::format("{} of operand set {} is not what it was before the call", name, set)};
  };
  if (!placed.a.empty() && digest(arena_.a(set)) != placed.a) return changed("A");
  if (!placed.b.empty() && digest(arena_.b(set)) != placed.b) return changed("B");
  return {};
}

Finding Stage::intact(int called) const {
  for (const int set : std::set<int>{called, last_, other_}) {
    if (Finding finding = surroundings_intact(set); !finding.ok()) return finding;
    const Placed& placed = sets_[static_cast<std::size_t>(set)];
    if (set == called || placed.c.empty() || digest(arena_.c(set, owner_)) == placed.c) continue;
    return {Outcome::cheat, "other-sets",
            fmt::format("a call on operand set {} wrote to C of set {}", called, set)};
  }
  return {};
}

Finding Stage::all_intact() const {
  for (int set = 0; set < static_cast<int>(sets_.size()); ++set) {
    if (Finding finding = surroundings_intact(set); !finding.ok()) return finding;
  }
  return {};
}

}  // namespace tilewright
