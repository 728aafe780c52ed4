// SPDX-License-Identifier: Apache-2.0
// A program for a problem as numbers, for models that learn from tables.
#pragma once

#include "policy/boosted_trees.h"
#include "program/program.h"

namespace tilewright {

// Sizes and decisions: numbers as logarithms, words as their position, NaN for a decision that does
// not exist; and the cost model's estimate. All families share the columns.
[[nodiscard]] FeatureRows no_features();
void add_features(FeatureRows& rows, const Program& program, const Problem& problem,
                  double log_estimate);

}  // namespace tilewright
