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
  std::unique_ptr<Policy> (*make)(PolicyContext context);
};

constexpr std::array<Entry, 3> kPolicies = {{
    {{"evolve", "mutation and crossover of the fastest, seeded by the cost model"}, make_evolve},
    {{"analytic", "programs in the order of the cost model"}, make_analytic},
    {{"random", "uniform over the legal programs"}, make_random},
}};

}  // namespace

std::vector<PolicyInfo> policies() {
  std::vector<PolicyInfo> out;
  for (const Entry& entry : kPolicies) out.push_back(entry.info);
  return out;
}

Result<std::unique_ptr<Policy>> make_policy(std::string_view name, PolicyContext context) {
  for (const Entry& entry : kPolicies) {
    if (entry.info.name == name) return entry.make(std::move(context));
  }
  std::vector<std::string_view> known;
  for (const Entry& entry : kPolicies) known.push_back(entry.info.name);
  return fail(ErrorCode::usage, fmt::format("--policy: unknown policy '{}'", name),
              fmt::format("known policies: {}", fmt::join(known, ", ")));
}

}  // namespace tilewright
