// SPDX-License-Identifier: Apache-2.0
// See ranking.h.
#include "policy/ranking.h"

#include <algorithm>
#include <map>

namespace tilewright {
namespace {

constexpr int kDraws = 1500;
constexpr std::size_t kClimbers = 12;
constexpr int kSteps = 12;

std::string kind_of(const Program& program) {
  const std::vector<std::string> tokens = program.tokens();
  std::string kind;
  for (std::size_t i = 0; i < tokens.size() && i < 3; ++i) kind += tokens[i] + " ";
  return kind;
}

Ranked rank(Program program, const PolicyContext& context) {
  const double seconds = estimate_seconds(program, context.problem, context.device);
  std::string kind = kind_of(program);
  return {seconds, std::move(program), std::move(kind)};
}

// The better of a program and its neighbours, until none is better.
Ranked climb(const std::vector<Space>& spaces, const PolicyContext& context, Ranked from) {
  for (int step = 0; step < kSteps; ++step) {
    std::vector<Program> around = neighbours(space_of(spaces, from.program), from.program);
    Ranked best = from;
    for (Program& neighbour : around) {
      Ranked other = rank(std::move(neighbour), context);
      if (other.seconds < best.seconds) best = std::move(other);
    }
    if (best.program == from.program) break;
    from = std::move(best);
  }
  return from;
}

// The programs from which to climb: the best of each kind, then the best of all.
std::vector<Ranked> climbers_of(const std::vector<Ranked>& sorted) {
  std::vector<Ranked> out;
  std::map<std::string, int> taken;
  for (const Ranked& r : sorted) {
    if (taken[r.kind]++ == 0) out.push_back(r);
  }
  for (std::size_t i = 0; i < sorted.size() && out.size() < kClimbers; ++i) {
    out.push_back(sorted[i]);
  }
  return out;
}

}  // namespace

const Space& space_of(const std::vector<Space>& spaces, const Program& program) {
  return *std::ranges::find_if(
      spaces, [&](const Space& space) { return &space.family() == &program.family(); });
}

std::vector<Ranked> rank_sample(const std::vector<Space>& spaces, const PolicyContext& context,
                                const Seen& seen, Rng& rng) {
  const auto faster = [](const Ranked& a, const Ranked& b) { return a.seconds < b.seconds; };
  std::vector<Ranked> out;
  Seen mine;
  const auto add = [&](Program program) {
    if (!seen.contains(program) && mine.add(program)) {
      out.push_back(rank(std::move(program), context));
    }
  };
  double total = 0;
  for (const Space& space : spaces) total += space.count();
  if (total <= kDraws) {
    for (const Space& space : spaces) {
      const auto all = space.enumerate(kDraws);
      for (const Program& program : *all) add(program);
    }
    std::ranges::stable_sort(out, faster);
    return out;
  }
  for (int i = 0; i < kDraws; ++i) {
    if (auto program = sample_any(spaces, rng)) add(*std::move(program));
  }
  std::ranges::stable_sort(out, faster);
  for (Ranked& from : climbers_of(out)) add(climb(spaces, context, std::move(from)).program);
  std::ranges::stable_sort(out, faster);
  return out;
}

}  // namespace tilewright
