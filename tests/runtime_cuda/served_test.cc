// SPDX-License-Identifier: Apache-2.0
// What `bench --served` asks of the library, on the driver made of host memory: the kernel that a
// call would take, as a file and a launch; and the summary of such a bench.
#include "cli/bench_contender.h"
#include "cli/served_summary.h"

#include "launch/cuda/call.h"
#include "problem/suite.h"
#include "runtime_cuda/fake_cuda.h"

#include <gmock/gmock.h>

namespace tilewright::runtime {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ServedTest : public CudaBackendTest {
 protected:
  static Problem problem(const char* text) { return *parse_problem(text); }
};

TEST_F(ServedTest, IsTheKernelThatExplainNames) {
  options_.workspace_bytes = 64 << 20;  // for copies in one launch
  const auto backend = open();
  ASSERT_NE(backend, nullptr);
  for (const char* text : {"64x64x64", "4096x4096x4096 bf16 nt", "4095x4095x4095", "16x4096x16384",
                           "100x64x72 f16 tn out=f32 batch=3", "1x1x1 bf16 tt"}) {
    const auto call = call_of(problem(text));
    ASSERT_TRUE(call) << call.error().message;
    const auto choice = backend->choose(*call, false);
    ASSERT_TRUE(choice) << choice.error().message;
    const std::string explained = backend->explain(*call).value();
    EXPECT_THAT(explained.substr(0, explained.find("else ")), HasSubstr(choice->program));
    EXPECT_THAT(choice->cubin, HasSubstr("tw_kernel"));
    EXPECT_EQ(choice->launches, 1);
    EXPECT_EQ(choice->vendor_because, "");
    EXPECT_EQ(problem_of(*call, 1, 0), problem(text));
  }
  Call many = packed(5, 3, 7, 200000);
  many.mode = TW_DETERMINISTIC;
  EXPECT_GT(backend->choose(many, false).value().launches, 1);
}

TEST_F(ServedTest, KernelsAreFilesWhileTheyAreNeeded) {
  write("core.twk", core(0));
  Options library;  // the vendor's is there, so what it would be left shows
  library.kernels = folder_.path().string();
  std::filesystem::path file;
  {
    auto served = ServedKernels::choose(
        {problem("64x64x64"), problem("4096x4096x4096"), problem("1x1x2147483648")},
        described("h200.json"), library, ServedWay::estimate);
    ASSERT_TRUE(served) << served.error().message;
    const auto choices = served->of(problem("64x64x64"));
    ASSERT_TRUE(choices) << choices.error().message;
    EXPECT_FALSE(choices->timed);
    const auto& small = choices->estimate;
    ASSERT_TRUE(small);
    EXPECT_EQ(small->timed, 0);
    EXPECT_EQ(small->from, "built in");
    EXPECT_EQ(small->vendor_because, "");
    EXPECT_TRUE(small->program.starts_with("sm80 form=direct"));
    file = small->binary.path;
    EXPECT_THAT(read_file(file).value(), HasSubstr("tw_kernel"));
    EXPECT_FALSE(small->binary.launch.cuda.arguments.empty());
    const auto large = served->of(problem("4096x4096x4096")).value().estimate;
    ASSERT_TRUE(large);
    EXPECT_THAT(large->vendor_because, HasSubstr("nothing was tuned"));
    EXPECT_NE(large->binary.hash, small->binary.hash);
    EXPECT_FALSE(large->program.empty());
    EXPECT_FALSE(served->of(problem("1x1x2147483648")));
    EXPECT_FALSE(served->of(problem("2x2x2")));
  }
  EXPECT_FALSE(std::filesystem::exists(file));
  const auto cpu = ServedKernels::choose({problem("8x8x8")}, Device{}, library, ServedWay::both);
  ASSERT_FALSE(cpu);
  EXPECT_EQ(cpu.error().code, ErrorCode::usage);
}

// And a runner can launch it: what its interpreter makes of the problem and the launch is legal.
TEST_F(ServedTest, EveryUntunedShapeInEveryForm) {
  options_.workspace_bytes = 512 << 20;  // for copies in one launch
  const CudaOperands operands{0x1000000, 0x2000000, 0x3000000, 0x4000000};
  const auto backend = open();
  ASSERT_NE(backend, nullptr);
  const auto suite = read_suite("@untuned200");
  ASSERT_TRUE(suite);
  for (const SuiteEntry& entry : suite->entries) {
    for (unsigned form = 0; form < 8; ++form) {
      Problem p = entry.problem;
      p.in = p.out = (form & 4U) != 0 ? ElementType::bf16 : ElementType::f16;
      p.a_transposed = (form & 1U) != 0;
      p.b_transposed = (form & 2U) != 0;
      const auto call = call_of(p);
      ASSERT_TRUE(call) << call.error().message;
      const auto choice = backend->choose(*call, false);
      ASSERT_TRUE(choice) << choice.error().message;
      EXPECT_EQ(choice->launches, 1) << to_text(p);
      const auto launched = resolve(choice->launch, p, GemmShape{p.m, p.n, p.k}, operands, 1, 0,
                                    132, std::int64_t{132} * 4);
      ASSERT_TRUE(launched) << to_text(p) << ": " << launched.error().message;
    }
  }
}

// By estimate first, and then by timing, whose choice may be another kernel.
TEST_F(ServedTest, BothWaysOfChoosing) {
  write("core.twk", core(0));
  Options library;
  library.kernels = folder_.path().string();
  fake().compute = false;
  const auto choices_of = [&](ServedWay way) {
    const auto served =
        ServedKernels::choose({problem("1000x1000x1000")}, described("h200.json"), library, way);
    return served ? served->of(problem("1000x1000x1000")).value() : ServedChoices{};
  };
  const ServedChoices first = choices_of(ServedWay::estimate);
  ASSERT_TRUE(first.estimate);
  std::string slow = first.estimate->program;
  std::ranges::replace(slow, ' ', ',');
  fake().cost = [&slow](const FakeCubin& cubin) { return cubin.program == slow ? 90.0 : 50.0; };
  fake().vendor_us = 60;
  const ServedChoices both = choices_of(ServedWay::both);
  ASSERT_TRUE(both.estimate && both.timed);
  EXPECT_EQ(both.estimate->program, first.estimate->program);
  EXPECT_NE(both.timed->program, first.estimate->program);
  EXPECT_NEAR(both.timed->timed, 50e-6, 2e-6);
  EXPECT_NEAR(both.timed->vendor_timed, 60e-6, 1e-6);
  EXPECT_EQ(both.timed->vendor_because, "");
  auto contenders = served_contenders(both);
  ASSERT_EQ(contenders.size(), 2U);
  EXPECT_TRUE(contenders[0].by_estimate && !contenders[0].by_timing && !contenders[0].stands);
  EXPECT_TRUE(!contenders[1].by_estimate && contenders[1].by_timing && contenders[1].stands);
  contenders = served_contenders({both.estimate, both.estimate});
  ASSERT_EQ(contenders.size(), 1U);
  EXPECT_TRUE(contenders[0].by_estimate && contenders[0].by_timing && contenders[0].stands);
  fake().vendor_us = 40;
  const ServedChoices left = choices_of(ServedWay::timed);
  EXPECT_FALSE(left.estimate);
  EXPECT_THAT(left.timed.value().vendor_because, HasSubstr("timed: 40.00 us"));
}

TEST(ServedSummary, WithAndWithoutTheFallback) {
  const std::vector<ServedRow> rows = {
      {"gemm 64x64x64 f16 acc=f32 nn", "built in", false, 2.0, "faster"},
      {"gemm 63x64x64 f16 acc=f32 nn", "built in", false, 0.5, "slower"},
      {"gemm 4096x4096x4096 f16 acc=f32 nn", "exact", true, 0.25, "slower"},
      {"gemm 4096x4096x2048 f16 acc=f32 nn", "nearest", true, 4.0, "faster"}};
  const std::string text = render_served({rows, {rows[1]}}, "cublaslt_heuristic", Format::md);
  EXPECT_THAT(text, HasSubstr("By estimate: of 4 problems it leaves 2 to the vendor's library"));
  EXPECT_THAT(text, HasSubstr("By timing: of 1 problems it leaves 0 to"));
  EXPECT_THAT(text, HasSubstr("| timed: all | 1 | 0 | 0 | 0 | 1 | 0.500 |"));
  EXPECT_THAT(text, HasSubstr("| timed: all, with the fallback | 1 | 0 | 0 | 0 | 1 | 0.500 |"));
  EXPECT_THAT(text, HasSubstr("1 of those it would have been faster"));
  EXPECT_THAT(text, HasSubstr("| built in | 2 | 1 | 0 | 0 | 1 | 1.000 | 1.250 | 0.500 | 63x64x64"));
  EXPECT_THAT(text,
              HasSubstr("| all | 4 | 2 | 0 | 0 | 2 | 1.000 | 1.250 | 0.250 | 4096x4096x4096"));
  EXPECT_THAT(text,
              HasSubstr("| all, with the fallback | 4 | 1 | 2 | 0 | 1 | 1.000 | 1.000 | 0.500 "));
  EXPECT_THAT(text, Not(HasSubstr("nothing")));
  EXPECT_EQ(render_served({{}, {}}, "cublaslt_heuristic", Format::human), "");
}

}  // namespace
}  // namespace tilewright::runtime
