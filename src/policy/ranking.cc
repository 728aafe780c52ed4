// SPDX-License-Identifier: Apache-2.0
// See ranking.h.
#include "policy/ranking.h"

#include "policy/experts_cuda.h"
#include "policy/walk.h"

#include <algorithm>
#include <array>
#include <map>

namespace tilewright {
namespace {

constexpr int kDraws = 1500;
constexpr int kWalks = 1500;  // on a GPU, beside the palette
constexpr std::size_t kClimbers = 24;
constexpr int kSteps = 16;
constexpr double kHopeless = 6;       // a kind whose best draw is this much slower is not climbed
constexpr double kNearlyBest = 1.2;   // what climbs pass within this of the best is kept,
constexpr std::size_t kPassed = 250;  // so many at most

Ranked rank(Program program, const PolicyContext& context) {
  const double seconds = estimate_seconds(program, context.problem, context.device);
  std::string kind = kind_of(program);
  return {seconds, std::move(program), std::move(kind)};
}

// `choices` with one decision changed; decisions that appear take their first value.
Choices changed(Choices choices, std::size_t decision, Choice value) {
  const std::vector<Decision>& decisions = choices.family().decisions;
  choices.set(decision, value);
  for (std::size_t i = decision + 1; i < decisions.size(); ++i) {
    const bool there = exists(decisions[i], choices);
    if (there == (choices.at(i) >= 0)) continue;
    choices.set(i, there ? Choice{0} : kAbsent);
  }
  return choices;
}

// A climb asks for legality last: the estimate is far cheaper than the rules. Where a change is
// refused, a shorter ring may make room for it.
class Climb {
 public:
  Climb(const PolicyContext& context, const Walk& walk, Ranked from)
      : context_(context), walk_(walk), best_(std::move(from)) {}

  Ranked run() {
    for (int step = 0; step < kSteps; ++step) {
      const double before = best_.seconds;
      const Program from = best_.program;
      for (std::size_t i = 0; i < from.family().decisions.size(); ++i) {
        const auto values = static_cast<Choice>(from.family().decisions[i].values.size());
        for (Choice v = 0; from.choices().at(i) >= 0 && v < values; ++v) {
          if (v != from.choices().at(i)) consider(changed(from.choices(), i, v));
        }
      }
      if (best_.seconds >= before) break;
    }
    return best_;
  }
  // Estimated well, legality not asked yet.
  [[nodiscard]] std::vector<Ranked> passed() && { return std::move(passed_); }

 private:
  void consider(const Choices& choices) {
    const auto stages = choices.family().find("stages");
    for (Choices shorter = choices;;) {
      Ranked other = rank(Program(shorter), context_);
      if (other.kind != best_.kind || other.seconds > kNearlyBest * best_.seconds) return;
      const bool better = other.seconds < best_.seconds;
      if (!better) {
        passed_.push_back(std::move(other));
        return;
      }
      if (walk_.allows(shorter)) {
        passed_.push_back(std::move(best_));
        best_ = std::move(other);
        return;
      }
      if (!stages || shorter.at(*stages) <= 0) return;
      shorter.set(*stages, static_cast<Choice>(shorter.at(*stages) - 1));
    }
  }

  const PolicyContext& context_;
  const Walk& walk_;
  Ranked best_;
  std::vector<Ranked> passed_;
};

// The programs from which to climb: the best of each kind, then the best of all.
std::vector<Ranked> climbers_of(const std::vector<Ranked>& sorted) {
  std::vector<Ranked> out;
  std::map<std::string, int> taken;
  for (const Ranked& r : sorted) {
    if (r.seconds > kHopeless * sorted.front().seconds) break;
    if (taken[r.kind]++ == 0) out.push_back(r);
  }
  for (std::size_t i = 0; i < sorted.size() && out.size() < kClimbers; ++i) {
    out.push_back(sorted[i]);
  }
  return out;
}

}  // namespace

std::string kind_of(const Program& program) {
  constexpr std::array<std::string_view, 6> kKeys = {"isa",       "form",   "schedule",
                                                     "consumers", "reduce", ""};
  std::string kind(program.family().name);
  for (const std::string_view key : kKeys) {
    if (!key.empty() && program.family().find(key)) kind.append(" ").append(program.word(key));
  }
  return kind;
}

const Space& space_of(const std::vector<Space>& spaces, const Program& program) {
  return *std::ranges::find_if(
      spaces, [&](const Space& space) { return &space.family() == &program.family(); });
}

std::vector<Ranked> rank_sample(const std::vector<Space>& spaces, const PolicyContext& context,
                                const Seen& seen, Rng& rng) {
  const auto faster = [](const Ranked& a, const Ranked& b) { return a.seconds < b.seconds; };
  std::vector<Ranked> out;
  Seen mine;
  const auto add = [&](Ranked ranked) {
    if (!seen.contains(ranked.program) && mine.add(ranked.program)) {
      out.push_back(std::move(ranked));
    }
  };
  if (context.only) {
    for (const Program& program : context.only->programs()) {
      if (!seen.contains(program)) out.push_back(rank(program, context));
    }
    std::ranges::stable_sort(out, faster);
    return out;
  }
  std::vector<Walk> walks;
  for (const Space& space : spaces) {
    walks.emplace_back(space.family(), context.problem, context.device);
  }
  const auto walk_of = [&](const Program& program) -> const Walk& {
    return walks[static_cast<std::size_t>(&space_of(spaces, program) - spaces.data())];
  };
  if (context.device.kind == DeviceKind::cuda && context.problem.is_gemm()) {
    // To count these spaces takes longer than to walk them.
    for (Program& program : cuda_palette(context.problem, context.device)) {
      add(rank(std::move(program), context));
    }
    for (int i = 0; i < kWalks && !walks.empty(); ++i) {
      auto program = walks[rng.below(walks.size())].draw(rng);
      if (program) add(rank(*std::move(program), context));
    }
  } else {
    double total = 0;
    for (const Space& space : spaces) total += space.count();
    if (total <= kDraws) {
      for (const Space& space : spaces) {
        const auto all = space.enumerate(kDraws);
        for (const Program& program : *all) add(rank(program, context));
      }
      std::ranges::stable_sort(out, faster);
      return out;
    }
    for (int i = 0; i < kDraws; ++i) {
      if (auto program = sample_any(spaces, rng)) add(rank(*std::move(program), context));
    }
  }
  std::ranges::stable_sort(out, faster);
  std::vector<Ranked> passed;
  for (const Ranked& from : climbers_of(out)) {
    Climb climb(context, walk_of(from.program), from);
    add(climb.run());
    std::ranges::move(std::move(climb).passed(), std::back_inserter(passed));
  }
  std::ranges::stable_sort(out, faster);
  std::ranges::stable_sort(passed, faster);
  std::size_t kept = 0;
  const double limit = out.empty() ? 0 : kNearlyBest * out.front().seconds;
  for (Ranked& r : passed) {
    if (r.seconds > limit || kept == kPassed) break;
    if (seen.contains(r.program) || mine.contains(r.program)) continue;
    if (!walk_of(r.program).allows(r.program.choices())) continue;
    add(std::move(r));
    ++kept;
  }
  std::ranges::stable_sort(out, faster);
  return out;
}

}  // namespace tilewright
