// SPDX-License-Identifier: Apache-2.0
// Regression by gradient-boosted trees: XGBoost, opened at run time, so that the program needs it
// only where somebody asks for the policy `boost`. One thread, so that a fit repeats bit for bit.
#pragma once

#include "base/error.h"

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace tilewright {

struct TreeOptions {
  int rounds = 40, depth = 5;
  double rate = 0.2;
};

// Row-major; NaN is "not there".
struct FeatureRows {
  std::size_t columns = 0;
  std::vector<float> values;
  [[nodiscard]] std::size_t rows() const { return columns == 0 ? 0 : values.size() / columns; }
};

class BoostedTrees {
 public:
  // An Error of code environment if there is no XGBoost here.
  [[nodiscard]] static Status available();
  [[nodiscard]] static Result<std::shared_ptr<const BoostedTrees>> fit(
      const FeatureRows& rows, std::span<const float> targets, const TreeOptions& options);
  virtual ~BoostedTrees() = default;
  // One value per row; empty if the library refuses.
  [[nodiscard]] virtual std::vector<float> predict(const FeatureRows& rows) const = 0;
};

}  // namespace tilewright
