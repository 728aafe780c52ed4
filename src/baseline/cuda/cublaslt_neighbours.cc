// SPDX-License-Identifier: Apache-2.0
// Beyond what cublasLt suggests: a descent along the knobs of its algorithms from the best three of
// the autotuned. Random configurations are twice as slow as the suggestions (docs/measurement.md),
// so the search stays near them. It ends with a race against the autotuned pick, which is returned
// unless it lost.
#include "base/race.h"
#include "baseline/cuda/descent.h"
#include "baseline/cuda/implementation.h"

#include <fmt/format.h>

#include <map>

namespace tilewright {
namespace {

constexpr double kGain = 0.995;    // a turn must gain half a per cent to be followed
constexpr double kHopeless = 1.3;  // one replay this much slower settles it

struct Known {
  vendor::LtAlgo algo;
  GraphTimer timer;
};

class Descent {
 public:
  Descent(LtSearch& search, double deadline) : search_(search), deadline_(deadline) {}

  bool spent() const { return steady_seconds() >= deadline_; }

  // An algorithm that is known to be right. Of two with the same knobs, the first stays.
  Status add(const vendor::AlgoConfig& config, const vendor::LtAlgo& algo) {
    if (known_.contains(config)) return {};
    auto timer = search_.timer(algo);
    if (!timer) return tl::unexpected(timer.error());
    known_.insert_or_assign(config, Known{algo, std::move(*timer)});
    return {};
  }
  const Known* find(const vendor::AlgoConfig& config) const {
    const auto at = known_.find(config);
    return at == known_.end() ? nullptr : &at->second;
  }

  bool better(const vendor::AlgoConfig& now, const vendor::AlgoConfig& next) {
    const Known* incumbent = find(now);
    if (incumbent == nullptr) return false;
    const auto algo = search_.admit(incumbent->algo, next);
    if (!algo) return false;
    ++admitted_;
    // Once outside a capture, then timed, and checked only if it is any good: checking costs more.
    if (!search_.run(*algo, search_.first(), search_.shared().stream())) return false;
    if (!search_.shared().wait()) return false;
    auto timer = search_.timer(*algo);
    if (!timer || !is_faster(*incumbent, *timer) || !search_.verify(*algo)) return false;
    known_.insert_or_assign(next, Known{*algo, std::move(*timer)});
    return true;
  }
  int admitted() const { return admitted_; }

 private:
  static bool is_faster(const Known& incumbent, const GraphTimer& timer) {
    const auto time_once = [&](int i) {
      return i == 0 ? incumbent.timer.time_once() : timer.time_once();
    };
    const RaceRules rules{.least_rounds = 3,
                          .most_rounds = 5,
                          .budget_seconds = 0,
                          .first_keep = kHopeless,
                          .keep = 1.1};
    const RaceResult result = race(2, time_once, steady_seconds, rules);
    return result.medians[1] < result.medians[0] * kGain;
  }

  LtSearch& search_;
  double deadline_;
  int admitted_ = 0;
  std::map<vendor::AlgoConfig, Known> known_;
};

// Whether `found` beats `pick` when both are timed alternately, at length.
bool wins(const Known& pick, const Known& found, double seconds) {
  const auto time_once = [&](int i) { return (i == 0 ? pick : found).timer.time_once(); };
  const RaceResult result =
      race(2, time_once, steady_seconds, {.least_rounds = 5, .budget_seconds = seconds});
  return result.medians[1] < result.medians[0];
}

Result<LtPick> choose_neighbour(LtSearch& search) {
  const auto tuned = choose_once("cublaslt_autotune", search, choose_autotuned);
  if (!tuned) return tl::unexpected(tuned.error());
  const double seconds = search.shared().budgets.neighbours_seconds;
  Descent descent(search, steady_seconds() + seconds);
  const DescentSteps steps{
      .neighbours =
          [&](const vendor::AlgoConfig& from, vendor::Knob knob) {
            const auto can = search.capabilities(from.id);
            if (!can) return std::vector<vendor::AlgoConfig>{};
            return vendor::neighbours(from, knob, *can, search.limits().reductions);
          },
      .better = [&](const auto& now, const auto& next) { return descent.better(now, next); },
      .spent = [&] { return descent.spent(); }};

  std::set<vendor::AlgoConfig> seen;
  std::vector<vendor::AlgoConfig> starts;
  for (const vendor::LtAlgo& algo : tuned->ranked) {
    const auto config = search.config_of(algo);
    if (!config) return tl::unexpected(config.error());
    if (Status s = descent.add(*config, algo); !s) return tl::unexpected(s.error());
    starts.push_back(*config);
  }
  const vendor::AlgoConfig pick = starts.front();
  vendor::AlgoConfig best = pick;
  int tried = 0, turns = 0;
  for (const vendor::AlgoConfig& start : starts) {
    if (descent.spent()) break;
    const DescentResult result = descend(start, steps, seen);
    tried += result.tried;
    turns += result.turns;
    if (result.best != best && wins(*descent.find(best), *descent.find(result.best), 0)) {
      best = result.best;
    }
  }
  if (best != pick && !wins(*descent.find(pick), *descent.find(best), seconds / 10)) best = pick;
  LtPick chosen;
  chosen.algo = descent.find(best)->algo;
  chosen.ranked = {chosen.algo};
  chosen.text = fmt::format("{} ({} neighbours tried, {} accepted by the library, {} turns{})",
                            vendor::to_text(best), tried, descent.admitted(), turns,
                            best == pick ? "; as autotuned" : "");
  return chosen;
}

}  // namespace

std::unique_ptr<CudaBaseline> make_cublaslt_neighbours(CudaShared& shared, const Problem& problem) {
  return make_lt_baseline("cublaslt_neighbours", shared, problem, choose_neighbour);
}

}  // namespace tilewright
