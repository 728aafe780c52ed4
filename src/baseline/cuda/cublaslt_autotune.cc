// SPDX-License-Identifier: Apache-2.0
// Every algorithm that cublasLt suggests, checked and timed on the operands at hand: what a careful
// user of the library does.
#include "base/race.h"
#include "baseline/cuda/implementation.h"

#include <fmt/format.h>

namespace tilewright {
namespace {

constexpr std::size_t kRanked = 3;  // starting points for the search of neighbours

struct Entrant {
  vendor::LtAlgo algo;
  GraphTimer timer;
};

}  // namespace

Result<LtPick> choose_autotuned(LtSearch& search) {
  const auto proposals = search.propose();
  if (!proposals) return tl::unexpected(proposals.error());
  std::vector<Entrant> field;
  std::string refused;
  for (const vendor::LtAlgo& algo : proposals->usable) {
    const Status right = search.verify(algo);
    auto timer = right ? search.timer(algo) : Result<GraphTimer>(tl::unexpected(right.error()));
    if (timer) {
      field.push_back({algo, std::move(*timer)});
    } else {
      refused = timer.error().message;
    }
  }
  const auto time_once = [&](int i) {
    return field[static_cast<std::size_t>(i)].timer.time_once();
  };
  RaceRules rules;
  rules.budget_seconds = search.shared().budgets.autotune_seconds;
  const RaceResult result = race(static_cast<int>(field.size()), time_once, steady_seconds, rules);
  if (result.order.empty()) {
    return fail(ErrorCode::environment, fmt::format("none of cublasLt's {} suggestions runs: {}",
                                                    proposals->returned, refused));
  }
  LtPick pick;
  for (std::size_t i = 0; i < result.order.size() && i < kRanked; ++i) {
    pick.ranked.push_back(field[static_cast<std::size_t>(result.order[i])].algo);
  }
  pick.algo = pick.ranked.front();
  const auto config = search.config_of(pick.algo);
  if (!config) return tl::unexpected(config.error());
  pick.text =
      fmt::format("{} ({} returned, {} valid{})", vendor::to_text(*config), proposals->returned,
                  field.size(), refused.empty() ? "" : ", last refusal: " + refused);
  return pick;
}

std::unique_ptr<CudaBaseline> make_cublaslt_autotune(CudaShared& shared, const Problem& problem) {
  return make_lt_baseline("cublaslt_autotune", shared, problem, choose_autotuned);
}

}  // namespace tilewright
