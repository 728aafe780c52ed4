// SPDX-License-Identifier: Apache-2.0
// See nearby.h.
#include "tune/nearby.h"

#include "policy/experience.h"

#include <algorithm>
#include <utility>

namespace tilewright {
namespace {

// Less than any step between shapes of a suite: a doubling is 1.
constexpr double kOtherLayout = 0.01;
constexpr double kOtherTypes = 0.02;

double distance(const Problem& of, const Problem& to) {
  Problem alike = of;
  alike.in = to.in;
  alike.out = to.out;
  alike.a_transposed = to.a_transposed;
  alike.b_transposed = to.b_transposed;
  return shape_distance(alike, to) + (of.layout() == to.layout() ? 0 : kOtherLayout) +
         (of.in == to.in && of.out == to.out && of.acc == to.acc ? 0 : kOtherTypes);
}

}  // namespace

NearbyPrograms::NearbyPrograms(const Wisdom& wisdom) {
  for (const WisdomEntry& entry : wisdom.entries) {
    Result<Problem> problem = parse_problem(entry.problem);
    Result<Program> program = parse_program(entry.program);
    if (problem && program) entries_.push_back({*std::move(problem), *std::move(program)});
  }
}

std::vector<Program> NearbyPrograms::of(const Problem& problem, const Device& device,
                                        std::size_t count) const {
  std::vector<std::pair<double, const Program*>> order;
  order.reserve(entries_.size());
  for (const Entry& entry : entries_) {
    order.emplace_back(distance(entry.problem, problem), &entry.program);
  }
  std::ranges::stable_sort(order, {}, &std::pair<double, const Program*>::first);
  std::vector<Program> out;
  for (const auto& [far, program] : order) {
    if (out.size() == count) break;
    if (std::ranges::find(out, *program) != out.end()) continue;
    if (is_legal(*program, problem, device)) out.push_back(*program);
  }
  return out;
}

}  // namespace tilewright
