// SPDX-License-Identifier: Apache-2.0
// The table of baselines, in the order in which tables show them. `torch` is not among them: it
// needs an interpreter in the measuring process; torch's own CPU matmul is oneDNN.
#include "baseline/baseline.h"

#include "base/text.h"
#include "baseline/environment.h"
#include "baseline/implementation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tilewright {
namespace {

// computing: operations besides gemm, but for a transpose, which computes nothing.
enum class Serves { products, computing, all };
bool serves(Serves what, const Problem& p) {
  if (what == Serves::products) return p.is_gemm();
  return what == Serves::all || (!p.is_gemm() && p.op != Op::transpose);
}

struct Implementation {
  std::string_view name;
  bool headline;
  Look look;
  Make make;
  Serves what = Serves::products;
};
constexpr std::array kImplementations = {
    Implementation{"onednn", true, look_onednn, make_onednn, Serves::all},
    Implementation{"onednn_f32", true, look_onednn_widened, make_onednn_widened, Serves::computing},
    Implementation{"onednn_current", true, look_onednn_current, make_onednn_current},
    Implementation{"openblas", true, look_openblas, make_openblas},
    Implementation{"openblas_ahead", false, look_openblas, make_openblas_ahead},
    Implementation{"openblas_sbgemm", true, look_openblas_sbgemm, make_openblas_sbgemm},
    Implementation{"reference", false, look_reference, make_reference, Serves::all},
};

}  // namespace

std::vector<BaselineInfo> baselines_for(const Problem& problem, const Device& device) {
  std::vector<BaselineInfo> result;
  for (const Implementation& row : kImplementations) {
    if (!serves(row.what, problem)) continue;
    Availability found = row.look(problem, device);
    const bool available = found.why_not.empty();
    // Where libraries are few, plain loops are what there is to beat.
    result.push_back({std::string(row.name), std::move(found.library), available,
                      std::move(found.why_not), row.headline || !problem.is_gemm()});
  }
  return result;
}

Result<std::unique_ptr<Baseline>> make_baseline(std::string_view name, const Problem& problem,
                                                const Device& device, int threads) {
  const auto* row = std::ranges::find(kImplementations, name, &Implementation::name);
  if (row == kImplementations.end()) {
    std::vector<std::string_view> known;
    for (const Implementation& one : kImplementations) known.push_back(one.name);
    return fail(ErrorCode::usage, fmt::format("baseline '{}' is not known", name),
                fmt::format("nearest: {}", nearest_word(name, known)));
  }
  if (!serves(row->what, problem)) {
    return fail(ErrorCode::usage,
                fmt::format("baseline '{}' does not compute '{}'", name, to_text(problem)));
  }
  if (threads < 1) {
    return fail(ErrorCode::usage, fmt::format("threads {} for baseline {}", threads, name));
  }
  if (row->look != look_reference) {
    if (const std::string set = rigging_variable(); !set.empty()) {
      return fail(ErrorCode::environment, fmt::format("{} would cripple {}", set, name),
                  fmt::format("unset {}", set.substr(0, set.find('='))));
    }
    apply_baseline_environment(device);
  }
  return row->make(problem, device, threads);
}

std::vector<int> team_cpus(const Device& device, int threads) {
  std::vector<int> cpus = device.cpus;
  if (cpus.size() > static_cast<std::size_t>(threads))
    cpus.resize(static_cast<std::size_t>(threads));
  return cpus;
}

}  // namespace tilewright
