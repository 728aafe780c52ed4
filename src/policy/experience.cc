// SPDX-License-Identifier: Apache-2.0
// See experience.h.
#include "policy/experience.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace tilewright {
namespace {

bool same_shape(const Problem& a, const Problem& b) {
  return a.m == b.m && a.n == b.n && a.k == b.k;
}

}  // namespace

double fitness_of(const Trial& trial) {
  if (trial.outcome != Outcome::ok) return 0;
  if (trial.speedup() > 0) return trial.speedup();
  return trial.time_us > 0 ? 1 / trial.time_us : 0;
}

double shape_distance(const Problem& a, const Problem& b) {
  const auto axis = [](std::int64_t x, std::int64_t y) {
    return std::abs(std::log2(static_cast<double>(std::max<std::int64_t>(x, 1))) -
                    std::log2(static_cast<double>(std::max<std::int64_t>(y, 1))));
  };
  const bool same_kind = a.in == b.in && a.out == b.out && a.a_transposed == b.a_transposed &&
                         a.b_transposed == b.b_transposed && a.op == b.op &&
                         a.function == b.function;
  return axis(a.m, b.m) + axis(a.n, b.n) + axis(a.k, b.k) + (same_kind ? 0 : 100);
}

Experience::Experience(std::span<const Trial> trials) {
  std::map<std::string, Result<Problem>, std::less<>> problems;
  for (const Trial& trial : trials) {
    const auto [at, is_new] = problems.try_emplace(trial.problem, parse_problem(trial.problem));
    Result<Program> program = parse_program(trial.program);
    if (!at->second || !program) continue;
    const double fitness = fitness_of(trial);
    known_.push_back({*at->second, *std::move(program), fitness > 0, trial.stage == "final",
                      fitness, trial.speedup() > 0, trial.profile});
  }
}

std::shared_ptr<const Experience> Experience::without(const Problem& shape) const {
  auto rest = std::shared_ptr<Experience>(new Experience());
  for (const Known& k : known_) {
    if (!same_shape(k.problem, shape)) rest->known_.push_back(k);
  }
  return rest;
}

std::vector<Program> winners_near(const Experience& experience, const Problem& problem,
                                  std::size_t screened) {
  struct Of {
    double distance;
    std::vector<const Known*> finals, screens;
  };
  std::vector<Of> by_problem;
  std::map<std::string, std::size_t> index;
  const Problem* last = nullptr;
  std::size_t at = 0;
  for (const Known& k : experience.known()) {
    if (!k.ok || k.problem == problem) continue;
    if (last == nullptr || !(*last == k.problem)) {
      const auto [place, is_new] = index.try_emplace(to_text(k.problem), by_problem.size());
      if (is_new) by_problem.push_back({shape_distance(k.problem, problem), {}, {}});
      at = place->second;
      last = &k.problem;
    }
    (k.final ? by_problem[at].finals : by_problem[at].screens).push_back(&k);
  }
  const auto fitter = [](const Known* a, const Known* b) { return a->fitness > b->fitness; };
  std::vector<Program> out;
  std::ranges::stable_sort(by_problem, {}, &Of::distance);
  for (Of& of : by_problem) {
    std::ranges::stable_sort(of.finals, fitter);
    std::ranges::stable_sort(of.screens, fitter);
    if (of.finals.empty() && of.screens.size() > screened) of.screens.resize(screened);
    for (const Known* k : of.finals.empty() ? of.screens : of.finals) out.push_back(k->program);
  }
  return out;
}

}  // namespace tilewright
