// SPDX-License-Identifier: Apache-2.0
// Trials that nobody measured, for reports: a win, a loss, a tie, a doubt, a problem without a
// baseline and one that nothing solved.
#pragma once

#include "report/report.h"

#include <string>
#include <vector>

namespace tilewright {

inline BaselineTime compared(double ratio, const char* comparison, double ours_us,
                             bool headline = true) {
  return {.time_us = ratio * ours_us,
          .ratio_low = ratio * 0.98,
          .ratio = ratio,
          .ratio_high = ratio * 1.02,
          .comparison = comparison,
          .headline = headline};
}

inline Trial invented(const char* problem, double time_us,
                      std::map<std::string, BaselineTime> baselines) {
  Trial trial;
  trial.problem = problem;
  trial.program = "cpu isa=avx512 form=direct threads=2";
  trial.device = "cpu-of-nobody";
  trial.outcome = Outcome::ok;
  trial.stage = "final";
  trial.policy = "analytic";
  trial.time_us = time_us;
  trial.spread = 0.004;
  trial.noise = 0.01;
  trial.baselines = std::move(baselines);
  return trial;
}

inline std::vector<Trial> invented_winners() {
  return {
      invented("gemm 64x64x64 f16 acc=f32 nn", 8,
               {{"onednn", compared(2, "faster", 8)},
                {"openblas", compared(4, "faster", 8)},
                {"reference", compared(50, "faster", 8, false)}}),
      invented("gemm 1024x1024x1024 f16 acc=f32 nn", 12500,
               {{"onednn", compared(0.5, "slower", 12500)},
                {"openblas", compared(1.25, "faster", 12500)},
                {"reference", compared(90, "faster", 12500, false)}}),
      invented("gemm 1x4096x4096 bf16 acc=f32 nt out=f32", 812.5,
               {{"onednn", compared(1.004, "same", 812.5)}}),
      invented("gemm 128x4096x4096 bf16 acc=f32 nt", 4000,
               {{"onednn", compared(1.03, "ambiguous", 4000)}}),
      invented("gemm 32x32x32 f16 acc=f32 tt", 1.5, {}),
  };
}

// The funnel: the winners, and attempts that failed.
inline std::vector<Trial> invented_trials() {
  std::vector<Trial> trials = invented_winners();
  const auto failed = [](const char* problem, Outcome outcome) {
    Trial trial = invented(problem, 0, {});
    trial.outcome = outcome;
    return trial;
  };
  trials.push_back(failed("gemm 64x64x64 f16 acc=f32 nn", Outcome::wrong));
  trials.push_back(failed("gemm 64x64x64 f16 acc=f32 nn", Outcome::wrong));
  trials.push_back(failed("gemm 7x7x7 bf16 acc=f32 nn", Outcome::crash));
  return trials;
}

inline Context invented_context() {
  return {{"date", "2026-01-02"}, {"device", "cpu of nobody"}, {"onednn", "3.5"}};
}

}  // namespace tilewright
