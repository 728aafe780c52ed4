// SPDX-License-Identifier: Apache-2.0
// What is expected of the vendor's library beside what it was measured to take, and of the core set
// beside what the cost model thinks possible. Estimates, no device.
#include "runtime/cuda/rule.h"
#include "base/rng.h"
#include "policy/cost_model_cuda.h"
#include "policy/walk.h"
#include "program/family_cuda.h"
#include "runtime_cuda/fake_cuda.h"

#include <algorithm>
#include <cmath>

namespace tilewright::runtime {
namespace {

struct VendorTime {
  std::int64_t m, n, k;
  double microseconds;
};

// cublasLt's first suggestion on an H200, f16, nn.
constexpr VendorTime kVendorTimes[] = {
    {704, 2, 1271, 6.5},        {52, 374, 9217, 16.7},    {898, 306, 511, 14.0},
    {328, 42, 5293, 11.2},      {99, 129, 1205, 7.4},     {5, 6547, 15, 2.7},
    {8, 7385, 503, 9.5},        {2454, 91, 3, 3.3},       {5, 2, 216, 3.0},
    {391, 2, 68, 2.6},          {6, 84, 1102, 4.5},       {879, 3056, 262, 15.2},
    {8192, 2048, 16384, 709.7}, {64, 64, 2048, 4.8},      {2048, 512, 128, 3.4},
    {8192, 64, 12288, 54.8},    {12288, 2048, 512, 45.4}, {128, 128, 1024, 3.5},
    {16384, 2048, 4096, 376.4}, {8192, 2048, 512, 31.0},  {64, 32001, 4096, 239.6},
    {5225, 1, 12324, 52.2},     {1024, 1000, 1001, 27.9}};

TEST(CudaRule, TheVendorsTimeIsKnownWithinAThird) {
  const Device device = described("h200.json");
  for (const VendorTime& row : kVendorTimes) {
    Call call;
    call.m = row.m;
    call.n = row.n;
    call.k = row.k;
    call.batch = 1;
    call.lda = row.k;
    call.ldb = call.ldc = row.n;
    call.in = call.out = ElementType::f16;
    const double seconds = row.microseconds * 1e-6;
    EXPECT_TRUE(vendor_is_faster(call, device, 1.6 * seconds)) << row.m << 'x' << row.n;
    EXPECT_FALSE(vendor_is_faster(call, device, 0.75 * seconds)) << row.m << 'x' << row.n;
    call.k = 0;
    EXPECT_FALSE(vendor_is_faster(call, device, 1));
  }
}

// `problem` as a kernel made for rows of `alignment` elements sees it.
Problem seen(Problem problem, int alignment) {
  const auto less = [alignment](std::int64_t rows) {
    return rows % alignment == 0 && alignment == 8 ? rows : (rows + 7) / 8 * 8 + alignment % 8;
  };
  problem.lda = less(problem.a_cols());
  problem.ldb = less(problem.b_cols());
  problem.ldc = less(problem.n);
  return problem;
}

TEST(CudaRule, TheCoreSetLosesLittleOfWhatTheModelThinksPossible) {
  const Device device = described("h200.json");
  std::vector<std::pair<int, Program>> core;
  const auto kernels = core_kernels(device);
  ASSERT_TRUE(kernels) << kernels.error().message;
  for (const PlannedKernel& planned : *kernels) {
    const Problem p = *parse_problem(planned.kernel.problem);
    if (p.a_transposed || p.b_transposed || p.in != ElementType::f16 || p.out != p.in) continue;
    core.emplace_back(planned.kernel.alignment[0], *parse_program(planned.kernel.program));
  }
  EXPECT_GT(core.size(), 20U);
  Rng rng(5);
  double sum = 0;
  constexpr int kShapes = 60;
  for (int i = 0; i < kShapes; ++i) {
    const auto size = [&rng] { return static_cast<std::int64_t>(std::exp2(rng.uniform() * 14)); };
    Problem problem = *parse_problem("64x64x64 f16");
    problem.m = size();
    problem.n = size();
    problem.k = size();
    const CudaAlignment rows = alignment_of(problem);
    const int least = std::min({rows.a, rows.b, rows.c});
    double ours = HUGE_VAL, best = HUGE_VAL;
    for (const auto& [alignment, program] : core) {
      if (alignment > least) continue;
      ours = std::min(ours, estimate_cuda(program, seen(problem, alignment), device).total);
    }
    for (const Family* family : {&sm80_family(), &sm90_family()}) {
      const Walk walk(*family, problem, device);
      for (int draw = 0; draw < 60; ++draw) {
        if (const auto program = walk.draw(rng)) {
          best = std::min(best, estimate_cuda(*program, problem, device).total);
        }
      }
    }
    EXPECT_LT(ours, 3 * best) << to_text(problem);
    sum += std::log(ours / best);
  }
  EXPECT_LT(sum / kShapes, 0.15);
  RecordProperty("mean_log_loss", std::to_string(sum / kShapes));
}

}  // namespace
}  // namespace tilewright::runtime
