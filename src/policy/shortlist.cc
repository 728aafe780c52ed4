// SPDX-License-Identifier: Apache-2.0
// See shortlist.h.
#include "policy/shortlist.h"

#include "policy/experts_cuda.h"
#include "policy/ranking.h"
#include "program/family_cuda.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace tilewright {
namespace {

constexpr double kPromising = 1.3;  // an expert estimated this much slower than the best is left
constexpr int kStatics = 3;         // each is compiled for one shape
constexpr double kNear = 1.3;       // so near a kind has to come for a place of its own
constexpr double kBlur = 0.5e-6;    // seconds: fixed costs of kinds are known no better

}  // namespace

std::vector<Program> shortlist(const Problem& problem, const Device& device, std::size_t count) {
  std::vector<Program> out;
  if (device.kind != DeviceKind::cuda) return out;
  const auto by_estimate = [&](const std::vector<Program>& programs) {
    std::vector<Ranked> ranked;
    for (const Program& p : programs) {
      ranked.push_back({estimate_seconds(p, problem, device), p, kind_of(p)});
    }
    return ranked;
  };
  const std::vector<Ranked> experts = by_estimate(cuda_experts(problem, device));
  std::vector<Ranked> ranked = by_estimate(cuda_palette(problem, device));
  std::ranges::stable_sort(ranked, {}, &Ranked::seconds);
  double best = ranked.empty() ? 0 : ranked.front().seconds;
  for (const Ranked& r : experts) best = best > 0 ? std::min(best, r.seconds) : r.seconds;

  Seen seen;
  std::map<std::string, int> kinds;
  int statics = 0;
  const auto take = [&](const Ranked& r) {
    const bool fixed_sizes = r.program.word("sizes") == "static";
    if (out.size() >= count || (fixed_sizes && statics == kStatics)) return;
    if (!seen.add(r.program)) return;
    statics += fixed_sizes ? 1 : 0;
    ++kinds[r.kind];
    out.push_back(r.program);
  };
  // The expert's first choice and the model's, then experts that the model does not rule out, for
  // at most half of the places; then the best of each kind, then the best.
  if (!experts.empty() && experts.front().seconds <= kPromising * best + kBlur)
    take(experts.front());
  if (!ranked.empty()) take(ranked.front());
  for (const Ranked& r : experts) {
    if (r.seconds <= kPromising * best + kBlur && out.size() < count / 2) take(r);
  }
  for (const Ranked& r : ranked) {
    if (r.seconds <= kNear * best + kBlur && kinds[r.kind] == 0) take(r);
  }
  for (const Ranked& r : ranked) take(r);
  return out;
}

std::string kernel_key(const Program& program, const Problem& problem) {
  if (program.word("sizes") == "static") return program.text() + " | " + to_text(problem);
  const CudaAlignment aligned = alignment_of(problem);
  return fmt::format("{} | {} {} {} {} {} | {} {} {} | {} {}", program.text(),
                     static_cast<int>(problem.in), static_cast<int>(problem.out),
                     static_cast<int>(problem.acc), problem.layout(), problem.batch > 1, aligned.a,
                     aligned.b, aligned.c, static_cast<int>(problem.alpha),
                     static_cast<int>(problem.beta));
}

std::vector<SweepKernel> sweep_set(std::span<const Problem> problems, const Device& device,
                                   std::size_t count) {
  std::vector<SweepKernel> out;
  std::map<std::string, std::size_t> places;
  for (const Problem& problem : problems) {
    for (Program& program : shortlist(problem, device, count)) {
      const auto [at, fresh] = places.emplace(kernel_key(program, problem), out.size());
      if (fresh) {
        out.push_back({problem, std::move(program), 1});
      } else {
        ++out[at->second].serves;
      }
    }
  }
  return out;
}

}  // namespace tilewright
