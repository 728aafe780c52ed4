// SPDX-License-Identifier: Apache-2.0
// A policy searches a recorded table instead of a device.
#pragma once

#include "policy/policy.h"
#include "replay/tables.h"

#include <span>
#include <string>
#include <vector>

namespace tilewright {

struct Search {
  // After each budget: oracle time over the reported time of the program that was fastest as the
  // search saw it; 0 while nothing right was found. A program whose second timing failed would
  // lose its final proof, so it is never the one.
  std::vector<double> quality;
  double seconds = 0;         // spent in the policy alone
  std::size_t proposals = 0;  // fewer than the last budget if the policy had no more to say
};

// Measures one program after the other, failures included, up to the last of the rising `budgets`.
// An Error if the policy does not exist or proposes outside the table or twice.
[[nodiscard]] Result<Search> search(const ReplayWorld& world, const std::string& policy,
                                    PolicyContext context, std::span<const std::size_t> budgets);

// 1, 2, 4 ... up to `most` and what the smallest table allows.
[[nodiscard]] std::vector<std::size_t> budgets_of(std::span<const ReplayWorld* const> worlds,
                                                  std::size_t most);

// Mean of the quality over log2 of the budget, by trapezoids; of one budget its value.
[[nodiscard]] double area(std::span<const double> quality);

}  // namespace tilewright
