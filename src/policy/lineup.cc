// SPDX-License-Identifier: Apache-2.0
// See lineup.h.
#include "policy/lineup.h"

#include "policy/experts_cuda.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

namespace tilewright {
namespace {

constexpr double kPromising = 1.25;  // an expert estimated this much slower than the best is left
constexpr double kNear = 1.3;        // so near a kind has to come to stand before second choices
constexpr double kBlur = 0.25e-6;    // seconds: fixed costs of kinds are known no better
constexpr int kSameTile = 2;         // places for one tile among the diverse ones

constexpr double kSmallFlop = 2e9;  // up to here static sizes always
constexpr double kWorth = 1.015;    // beyond, where they gain that much

constexpr std::array<std::string_view, 8> kVariations = {
    "raster", "ahead", "in_flight", "fragments", "copies", "sizes", "stages", "group"};
constexpr std::array<std::string_view, 5> kTile = {"form", "schedule", "tile_m", "tile_n",
                                                   "split_k"};

std::string text_of(const Program& program, auto&& wanted) {
  std::string text(program.family().name);
  for (const Decision& decision : program.family().decisions) {
    if (!wanted(decision.key) || program.word(decision.key).empty()) continue;
    text.append(" ").append(decision.key).append("=").append(program.word(decision.key));
  }
  return text;
}

std::string tile_of(const Program& program) {
  return text_of(program,
                 [](std::string_view key) { return std::ranges::find(kTile, key) != kTile.end(); });
}

// A list with a reading position.
struct Queue {
  std::vector<const Ranked*> programs;
  std::size_t next = 0;
};

class Front {
 public:
  Front(const Problem& problem, const Device& device) : problem_(problem), device_(device) {}

  // The queue's next program that may stand here.
  bool take_from(Queue& queue) {
    while (queue.next < queue.programs.size()) {
      if (take(sized(queue.programs[queue.next++]->program, problem_, device_))) return true;
    }
    return false;
  }
  bool take(const Program& program) {
    if (programs_.size() < kDiversePlaces) {
      const std::string build = build_of(program), tile = tile_of(program);
      if (builds_.contains(build) || tiles_[tile] == kSameTile) return false;
      if (!seen_.add(program)) return false;
      builds_.insert(build);
      ++tiles_[tile];
    } else if (!seen_.add(program)) {
      return false;
    }
    programs_.push_back(program);
    return true;
  }
  [[nodiscard]] std::size_t size() const { return programs_.size(); }
  [[nodiscard]] std::vector<Program> programs() && { return std::move(programs_); }

 private:
  const Problem& problem_;
  const Device& device_;
  Seen seen_;
  std::set<std::string> builds_;
  std::map<std::string, int> tiles_;
  std::vector<Program> programs_;
};

}  // namespace

std::string build_of(const Program& program) {
  return text_of(program, [](std::string_view key) {
    return std::ranges::find(kVariations, key) == kVariations.end();
  });
}

Program sized(const Program& program, const Problem& problem, const Device& device) {
  const auto with = [&](std::string_view word) {
    Choices choices = program.choices();
    const std::size_t at = *program.family().find("sizes");
    const auto& values = program.family().decisions[at].values;
    choices.set(at, static_cast<Choice>(std::ranges::find(values, word) - values.begin()));
    return Program(std::move(choices));
  };
  if (!program.family().find("sizes")) return program;
  Program fixed = with("static"), free = with("runtime");
  const double gain =
      estimate_seconds(free, problem, device) / estimate_seconds(fixed, problem, device);
  return problem.flop() < kSmallFlop || gain > kWorth ? fixed : free;
}

std::vector<Program> lineup(const Problem& problem, const Device& device,
                            std::span<const Ranked> ranked, std::size_t count) {
  std::vector<Ranked> known;
  double best = ranked.empty() ? 0 : ranked.front().seconds;
  for (Program& program : cuda_experts(problem, device)) {
    const double seconds = estimate_seconds(program, problem, device);
    best = best > 0 ? std::min(best, seconds) : seconds;
    std::string kind = kind_of(program);
    known.push_back({seconds, std::move(program), std::move(kind)});
  }
  Queue experts, model;
  std::set<std::string> kinds;
  for (const Ranked& r : known) {
    if (r.seconds <= kPromising * best + kBlur) experts.programs.push_back(&r);
  }
  for (const Ranked& r : ranked) {
    if (r.seconds <= kNear * best + kBlur && kinds.insert(r.kind).second) {
      model.programs.push_back(&r);
    }
  }
  for (const Ranked& r : ranked) model.programs.push_back(&r);

  Front front(problem, device);
  for (bool more = true; more && front.size() < count;) {
    more = front.take_from(experts);
    if (front.size() < count) more = front.take_from(model) || more;
  }
  // Few programs are legal: what is nearly the same then, after all.
  std::vector<Program> out = std::move(front).programs();
  for (const Ranked& r : ranked) {
    if (out.size() >= count) break;
    if (std::ranges::find(out, r.program) == out.end()) out.push_back(r.program);
  }
  return out;
}

}  // namespace tilewright
