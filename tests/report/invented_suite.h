// SPDX-License-Identifier: Apache-2.0
// A suite of two shapes that nobody measured, with a vendor's five baselines, three modes and both
// layouts of the first shape.
#pragma once

#include "problem/problem.h"
#include "report/invented_trials.h"

#include <string>
#include <vector>

namespace tilewright {

// Baselines at these multiples of our time.
struct InventedRatios {
  double autotune, neighbours, heuristic, cublas;
};

inline Trial invented_step(const char* problem, const char* mode, double ours_us,
                           const InventedRatios& ratios, const char* verdict) {
  Trial trial = invented(problem, ours_us,
                         {{"cublaslt_autotune", compared(ratios.autotune, verdict, ours_us)},
                          {"cublaslt_neighbours", compared(ratios.neighbours, verdict, ours_us)},
                          {"cublaslt_heuristic", compared(ratios.heuristic, "faster", ours_us)},
                          {"cublas", compared(ratios.cublas, "faster", ours_us)}});
  trial.device = "cuda-of-nobody";
  trial.program = "sm90 tile=128x128";
  trial.mode = mode;
  trial.stage = "bench";
  trial.run = "run-1";
  trial.unix_ms = 1'795'000'000'000;
  return trial;
}

inline std::vector<Trial> invented_suite_trials() {
  std::vector<Trial> trials = {
      invented_step("gemm 64x128x256 f16 acc=f32 nn", "offline", 2, {1.5, 1.25, 2, 2.5}, "faster"),
      invented_step("gemm 64x128x256 f16 acc=f32 nt", "offline", 4, {0.5, 0.5, 0.5, 1}, "slower"),
      invented_step("gemm 64x128x256 f16 acc=f32 nn", "wall", 8, {2, 2, 2, 2}, "faster"),
      invented_step("gemm 64x128x256 f16 acc=f32 nn", "server", 3, {2, 2, 2, 3}, "faster"),
      invented_step("gemm 4096x4096x4096 f16 acc=f32 nn", "offline", 200, {1.004, 1, 1.1, 1.2},
                    "same"),
  };
  trials[0].baselines["torch"] = {.time_us = 6, .headline = false};
  trials[0].libraries = "cuBLASLt 13.0";
  trials[0].before = {.sm_mhz = 1980, .watts = 300, .celsius = 40};
  trials[0].after = {.sm_mhz = 1755, .watts = 690, .celsius = 61, .throttle = "power cap"};
  trials[3].latency_us = 11;
  trials[3].baselines["cublas"].latency_us = 14;
  trials[3].baselines["cublaslt_autotune"].latency_us = 15;
  Trial failed = invented_step("gemm 4096x4096x4096 f16 acc=f32 nt", "offline", 0, {}, "");
  failed.outcome = Outcome::wrong;
  trials.push_back(failed);
  trials.push_back(invented_step("gemm 7x7x7 f16 acc=f32 nn", "offline", 1, {1, 1, 1, 1}, "same"));
  return trials;
}

inline std::vector<Problem> invented_suite() {
  return {*parse_problem("64x128x256"), *parse_problem("4096x4096x4096")};
}

}  // namespace tilewright
