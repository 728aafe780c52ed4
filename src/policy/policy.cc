// SPDX-License-Identifier: Apache-2.0
// The table of policies. A new one is a row here and a file beside this one.
#include "policy/policy.h"

#include "base/text.h"
#include "policy/proposers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace tilewright {
namespace {

struct Entry {
  PolicyInfo info;
  Result<std::unique_ptr<Policy>> (*make)(PolicyContext context);
};

template <std::unique_ptr<Policy> (*make)(PolicyContext)>
Result<std::unique_ptr<Policy>> always(PolicyContext context) {
  return make(std::move(context));
}
template <bool pretrained>
Result<std::unique_ptr<Policy>> boost(PolicyContext context) {
  return make_boost(std::move(context), pretrained);
}

constexpr std::array<Entry, 11> kPolicies = {{
    {{"evolve", "mutation and crossover of the fastest, seeded by the cost model"},
     always<make_evolve>},
    {{"analytic", "programs in the order of the cost model"}, always<make_analytic>},
    {{"random", "uniform over the legal programs"}, always<make_random>},
    {{"ga", "a genetic algorithm without a cost model"}, always<make_genetic>},
    {{"anneal", "simulated annealing by mutations, with restarts"}, always<make_anneal>},
    {{"tpe", "tree-structured Parzen estimator over the decisions"}, always<make_parzen>},
    {{"transfer", "winners of the nearest recorded shapes, then local search"},
     always<make_transfer>},
    {{"boost", "gradient-boosted trees, pretrained on other shapes (needs XGBoost)"}, boost<true>},
    {{"boost-cold", "the same, learning from the problem's own results alone"}, boost<false>},
    {{"lm", "a language model that writes programs and keeps learning (needs tilewright-learner)",
      true},
     make_language},
    {{"heuristics", "what NVIDIA's nvMatmulHeuristics would run (needs Python and its package)",
      true},
     make_heuristics},
}};

// Part of `tilewright table`, no search.
constexpr std::string_view kTable = "table";

}  // namespace

std::vector<PolicyInfo> policies() {
  std::vector<PolicyInfo> out;
  for (const Entry& entry : kPolicies) out.push_back(entry.info);
  return out;
}

Result<std::unique_ptr<Policy>> make_policy(std::string_view name, PolicyContext context) {
  if (!context.experience) context.experience = std::make_shared<Experience>(context.history);
  context.history.clear();
  if (name == kTable && context.only) return make_table(std::move(context));
  for (const Entry& entry : kPolicies) {
    if (entry.info.name == name) return entry.make(std::move(context));
  }
  std::vector<std::string_view> known;
  for (const Entry& entry : kPolicies) known.push_back(entry.info.name);
  return fail(ErrorCode::usage, fmt::format("--policy: unknown policy '{}'", name),
              fmt::format("known policies: {}", fmt::join(known, ", ")));
}

}  // namespace tilewright
