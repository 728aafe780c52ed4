// SPDX-License-Identifier: Apache-2.0
// See shortlist.h.
#include "policy/shortlist.h"

#include "policy/experts_cuda.h"
#include "policy/lineup.h"
#include "program/family_cuda.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace tilewright {
std::vector<Program> shortlist(const Problem& problem, const Device& device, std::size_t count) {
  if (device.kind != DeviceKind::cuda || !problem.is_gemm()) return {};
  std::vector<Ranked> ranked;
  for (const Program& p : cuda_palette(problem, device)) {
    ranked.push_back({estimate_seconds(p, problem, device), p, kind_of(p)});
  }
  std::ranges::stable_sort(ranked, {}, &Ranked::seconds);
  return lineup(problem, device, ranked, count);
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
