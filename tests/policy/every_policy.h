// SPDX-License-Identifier: Apache-2.0
// What the tests of policies share: contexts, made results, and an invented landscape.
#pragma once

#include "policy/boosted_trees.h"
#include "policy/policy.h"
#include "program/devices.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

namespace tilewright {

inline PolicyContext context_for(const char* problem, std::uint64_t seed = 1) {
  return {parse_problem(problem).value(), avx512_device(2), seed, {}};
}

inline Trial ok_trial(const PolicyContext& context, const Program& program, double time_us) {
  Trial trial;
  trial.problem = to_text(context.problem);
  trial.program = program.text();
  trial.device = context.device.fingerprint();
  trial.outcome = Outcome::ok;
  trial.stage = "screen";
  trial.time_us = time_us;
  return trial;
}

// An invented device: the time depends on four decisions only, and not as the cost model thinks.
inline double invented_time(const Program& p) {
  const auto off = [](double value, double best) {
    return std::abs(std::log2((value + 1) / (best + 1)));
  };
  return 10 + 3 * off(static_cast<double>(p.number("mr")), 5) +
         2 * off(static_cast<double>(p.number("nr")), 32) +
         off(static_cast<double>(p.number("kc")), 128) + (p.word("order") == "mn" ? 0 : 2) +
         (p.word("form") == "direct" ? 0 : 6);
}

// The best invented time among the first proposals, after each of them.
inline std::vector<double> bests(const std::string& name, const PolicyContext& context,
                                 int budget) {
  auto policy = make_policy(name, context).value();
  std::vector<double> out;
  double best = 1e9;
  for (int i = 0; i < budget; ++i) {
    for (const Program& program : policy->propose(1)) {
      best = std::min(best, invented_time(program));
      policy->observe(ok_trial(context, program, invented_time(program)));
    }
    out.push_back(best);
  }
  return out;
}
inline double best_after(const std::string& name, const PolicyContext& context, int budget) {
  return bests(name, context, budget).back();
}
inline double mean_best(const std::string& name, const PolicyContext& context, int budget) {
  const std::vector<double> all = bests(name, context, budget);
  return std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
}

// With a name of a policy as its parameter; skips what this machine lacks a library for.
class EveryPolicy : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!GetParam().starts_with("boost")) return;
    if (const Status there = BoostedTrees::available(); !there) {
      GTEST_SKIP() << there.error().message;
    }
  }
};

inline std::string policy_parameter(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::ranges::replace(name, '-', '_');
  return name;
}

}  // namespace tilewright
