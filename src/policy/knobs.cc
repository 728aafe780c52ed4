// SPDX-License-Identifier: Apache-2.0
// See knobs.h.
#include "policy/knobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <vector>

namespace tilewright {
namespace {

constexpr std::array<Knob, 36> kKnobs = {{
    {"ga.population", 16, 2, 1000, "the fittest programs, from which parents are drawn"},
    {"ga.start", 8, 1, 1000, "programs before the first child, transfers included"},
    {"ga.transfers", 2, 0, 1000, "of these, winners of the nearest shapes"},
    {"ga.cross", 0.3, 0, 1, "share of children with two parents"},
    {"ga.fresh", 0.05, 0, 1, "share of uniform draws"},
    {"anneal.temperature", 0.2, 1e-6, 100, "at first, of the logarithm of time"},
    {"anneal.cooling", 0.9, 0.01, 1, "factor of the temperature per step"},
    {"anneal.patience", 12, 1, 100000, "steps without a better program before a restart"},
    {"anneal.start", 4, 1, 1000, "programs before the walk, transfers included"},
    {"anneal.transfers", 2, 0, 1000, "of these, winners of the nearest shapes"},
    {"tpe.start", 8, 1, 1000, "programs before the first estimate, transfers included"},
    {"tpe.transfers", 2, 0, 1000, "of these, winners of the nearest shapes"},
    {"tpe.good", 0.2, 0.01, 0.9, "share of the programs that counts as good"},
    {"tpe.draws", 32, 1, 10000, "candidates of which the best ratio is taken"},
    {"transfer.winners", 4, 0, 1000, "programs of the nearest shapes to begin with"},
    {"transfer.per_shape", 2, 1, 1000, "of one shape at most, where nothing was timed in full"},
    {"transfer.start", 4, 0, 1000, "uniform draws after them"},
    {"transfer.front", 3, 1, 1000, "the fittest, around which it searches"},
    {"transfer.jump", 0.3, 0, 1, "share of mutations; the rest changes one decision"},
    {"boost.start", 8, 1, 1000, "programs before the first fit to own results"},
    {"boost.transfers", 0, 0, 1000, "pretrained: winners of the nearest shapes to begin with"},
    {"boost.refit", 4, 1, 1000, "results between two fits"},
    {"boost.rounds", 40, 1, 1000, "trees per fit"},
    {"boost.depth", 5, 1, 12, "depth of a tree"},
    {"boost.rate", 0.2, 0.001, 1, "learning rate"},
    {"boost.trust", 0, 0, 1,
     "1: the trees correct the cost model; 0: it is a feature among others"},
    {"boost.explore", 0.1, 0, 1, "share of proposals that the model does not choose"},
    {"lm.samples", 64, 1, 4096, "programs drawn for a round; most are never measured"},
    {"lm.round", 8, 1, 256, "proposals of a round, before it is shown new exemplars"},
    {"lm.temperature", 1, 0.05, 5, "of sampling"},
    {"lm.rank", 1, 0, 1, "1: the likeliest of the drawn first; 0: in the order drawn"},
    {"lm.exemplars", 2, 0, 3, "programs shown with their scores, of distinct score buckets"},
    {"lm.transfers", 1, 0, 1, "1: before own results, exemplars are of the nearest recorded shape"},
    {"lm.learn", 8, 0, 100000, "results between two updates of the weights; 0: never"},
    {"lm.steps", 2, 1, 100, "steps of such an update"},
    {"lm.explore", 0, 0, 1, "share of proposals that are uniform draws"},
}};

const Knob* find(std::string_view name) {
  const auto at = std::ranges::find(kKnobs, name, &Knob::name);
  return at == kKnobs.end() ? nullptr : &*at;
}

}  // namespace

std::span<const Knob> all_knobs() {
  return kKnobs;
}

Status Knobs::set(std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  const std::string_view name = assignment.substr(0, equals);
  const Knob* knob = find(name);
  if (knob == nullptr) {
    std::string known;
    for (const Knob& k : kKnobs) known += fmt::format("{}{}", known.empty() ? "" : ", ", k.name);
    return fail(ErrorCode::usage, fmt::format("--set: unknown number '{}'", name),
                fmt::format("known: {}", known));
  }
  const std::string_view digits =
      equals == std::string_view::npos ? std::string_view() : assignment.substr(equals + 1);
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || !std::isfinite(value) ||
      value < knob->least || value > knob->most) {
    return fail(ErrorCode::usage, fmt::format("--set {}: '{}' is not allowed", name, digits),
                fmt::format("a number from {} to {}, such as {}={}", knob->least, knob->most, name,
                            knob->fallback));
  }
  set_.insert_or_assign(std::string(name), value);
  return {};
}

double Knobs::operator[](std::string_view name) const {
  const auto found = set_.find(name);
  return found != set_.end() ? found->second : find(name)->fallback;
}

std::string Knobs::text() const {
  std::string out;
  for (const auto& [name, value] : set_) {
    out += fmt::format("{}{}={}", out.empty() ? "" : " ", name, value);
  }
  return out;
}

}  // namespace tilewright
