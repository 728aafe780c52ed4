// SPDX-License-Identifier: Apache-2.0
// See features.h.
#include "policy/features.h"

#include "base/text.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>

namespace tilewright {
namespace {

constexpr std::size_t kProblemColumns = 11;

// Column of each decision by its key, after those of the problem; of gemm's families first.
const std::map<std::string_view, std::size_t>& columns() {
  static const auto all = [] {
    std::map<std::string_view, std::size_t> out;
    for (const Family* family : families()) {
      for (const Decision& decision : family->decisions) {
        out.try_emplace(decision.key, kProblemColumns + out.size());
      }
    }
    return out;
  }();
  return all;
}

float log_of(double value) {
  return static_cast<float>(std::log2(std::max(value, 1.0)));
}

}  // namespace

FeatureRows no_features() {
  return {kProblemColumns + columns().size(), {}};
}

void add_features(FeatureRows& rows, const Program& program, const Problem& problem,
                  double log_estimate) {
  const std::size_t begin = rows.values.size();
  rows.values.resize(begin + rows.columns, std::numeric_limits<float>::quiet_NaN());
  const std::span<float> row(rows.values.data() + begin, rows.columns);
  const auto family = std::ranges::find(families(), &program.family());
  const float fixed[kProblemColumns] = {
      log_of(static_cast<double>(problem.m)),
      log_of(static_cast<double>(problem.n)),
      log_of(static_cast<double>(problem.k)),
      log_of(problem.flop()),
      log_of(problem.flop() / std::max(problem.bytes(), 1.0)),
      static_cast<float>(problem.in),
      static_cast<float>(problem.acc),
      problem.a_transposed ? 1.0F : 0.0F,
      problem.b_transposed ? 1.0F : 0.0F,
      static_cast<float>(family - families().begin()),
      static_cast<float>(log_estimate),
  };
  std::ranges::copy(fixed, row.begin());
  const std::vector<Decision>& decisions = program.family().decisions;
  for (std::size_t d = 0; d < decisions.size(); ++d) {
    const Choice value = program.choices().at(d);
    if (value < 0) continue;
    const auto number = parse_integer(decisions[d].values[static_cast<std::size_t>(value)]);
    row[columns().at(decisions[d].key)] =
        number ? log_of(static_cast<double>(*number) + 1) : static_cast<float>(value);
  }
}

}  // namespace tilewright
