// SPDX-License-Identifier: Apache-2.0
// See run.h.
#include "replay/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <set>

namespace tilewright {

Result<Search> search(const ReplayWorld& world, const std::string& name, PolicyContext context,
                      std::span<const std::size_t> budgets) {
  using Clock = std::chrono::steady_clock;
  Search result;
  Clock::duration spent{};
  const auto timed = [&](const auto& work) {
    const Clock::time_point begin = Clock::now();
    auto value = work();
    spent += Clock::now() - begin;
    return value;
  };
  context.problem = world.problem;
  context.only = world.programs;
  Result<std::unique_ptr<Policy>> policy =
      timed([&] { return make_policy(name, std::move(context)); });
  if (!policy) return tl::unexpected(policy.error());

  double seen = std::numeric_limits<double>::infinity();  // of the fastest so far
  double quality = 0;
  std::set<std::string> had;
  bool dry = false;
  for (const std::size_t budget : budgets) {
    while (!dry && result.proposals < budget) {
      const std::vector<Program> proposed = timed([&] { return (*policy)->propose(1); });
      if (proposed.empty()) {
        dry = true;
        break;
      }
      const std::string text = proposed.front().text();
      const Trial* first = world.table.seen(text);
      if (first == nullptr || !world.programs->find(text) || !had.insert(text).second) {
        return fail(ErrorCode::internal,
                    fmt::format("policy {} proposed what is not in the table or was measured: {}",
                                name, text));
      }
      ++result.proposals;
      const Trial* second = world.table.reported(text);
      const bool right = first->outcome == Outcome::ok && first->time_us > 0 &&
                         second->outcome == Outcome::ok && second->time_us > 0;
      if (right && first->time_us < seen) {
        seen = first->time_us;
        quality = world.oracle_us / second->time_us;
      }
      timed([&] {
        (*policy)->observe(*first);
        return 0;
      });
    }
    result.quality.push_back(quality);
  }
  result.seconds = std::chrono::duration<double>(spent).count();
  return result;
}

std::vector<std::size_t> budgets_of(std::span<const ReplayWorld* const> worlds, std::size_t most) {
  for (const ReplayWorld* world : worlds) most = std::min(most, world->programs->programs().size());
  std::vector<std::size_t> budgets;
  for (std::size_t budget = 1; budget <= most; budget *= 2) budgets.push_back(budget);
  return budgets;
}

double area(std::span<const double> quality) {
  if (quality.empty()) return 0;
  if (quality.size() == 1) return quality.front();
  double sum = 0;
  for (std::size_t i = 1; i < quality.size(); ++i) sum += (quality[i - 1] + quality[i]) / 2;
  return sum / static_cast<double>(quality.size() - 1);
}

}  // namespace tilewright
