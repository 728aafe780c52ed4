// SPDX-License-Identifier: Apache-2.0
// The served form of CUDA kernels: what it adds to the text and the launch, that it leaves plain
// kernels alone, and (with NVRTC, no device) that it spills nothing where the plain one does not.
#include "base/scratch_folder.h"
#include "compile/compile.h"
#include "compile/cuda_toolchain.h"
#include "cuda_libraries.h"
#include "generate/generate.h"

#include <gmock/gmock.h>

namespace tilewright {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Device hopper() {
  Device device;
  device.kind = DeviceKind::cuda;
  device.isa = {"sm80", "sm90a"};
  device.silicon = "test-sm_90";
  device.cuda = {.capability = 90,
                 .multiprocessors = 132,
                 .shared_per_block = 232448,
                 .shared_per_multiprocessor = 233472,
                 .registers_per_multiprocessor = 65536};
  return device;
}

struct Case {
  const char* program;
  const char* problem;
};
constexpr std::array kCases = {
    Case{"sm80 form=direct tile_m=16 tile_n=16 warps_k=4 ahead=2 split_k=1 raster=m group=1 "
         "sizes=runtime",
         "gemm 64x64x1024 bf16 nt out=f32 lda=1025 ldb=1025 ldc=65"},
    Case{"sm80 form=tile tile_m=64 tile_n=64 tile_k=64 warps_m=2 warps_n=2 warps_k=1 stages=4 "
         "fragments=double copies=together split_k=1 epilogue=exchange raster=m group=8 "
         "sizes=runtime",
         "gemm 4096x4096x4096 f16 nn"},
    Case{"sm90 schedule=cooperative consumers=2 tile_m=128 tile_n=128 tile_k=64 stages=6 split_k=1 "
         "cluster=1x1 grid=persistent in_flight=1 epilogue=exchange raster=m group=8 sizes=runtime",
         "gemm 4096x4096x4096 f16 tn"}};

Source made(const Case& c, Form form) {
  const Result<Program> program = parse_program(c.program);
  EXPECT_TRUE(program) << program.error().message;
  const Result<Problem> problem = parse_problem(std::string(c.problem) + " alpha=any beta=any");
  EXPECT_TRUE(problem) << problem.error().message;
  const Result<Source> source = generate(*program, *problem, hopper(), form);
  EXPECT_TRUE(source) << source.error().message;
  return *source;
}

TEST(CudaServed, AddsTwoArgumentsAtTheEnd) {
  for (const Case& c : kCases) {
    const Source plain = made(c, Form::plain), served = made(c, Form::served);
    EXPECT_THAT(plain.text, Not(HasSubstr("served")));
    EXPECT_THAT(served.text, HasSubstr("float beta, const void* bias, int activation)"));
    EXPECT_THAT(served.text, HasSubstr("{bias, activation}"));
    Launch expected = plain.launch;
    expected.cuda.arguments.insert(expected.cuda.arguments.end(), {"bias", "activation"});
    EXPECT_EQ(served.launch, expected);
    EXPECT_EQ(launch_from_json(to_json(served.launch)).value(), served.launch);
  }
}

TEST(CudaServed, WantsAProblemWithAlphaAndBeta) {
  const Result<Program> program = parse_program(kCases[1].program);
  const Result<Problem> problem = parse_problem(kCases[1].problem);
  const Result<Source> source = generate(*program, *problem, hopper(), Form::served);
  ASSERT_FALSE(source);
  EXPECT_THAT(source.error().message, HasSubstr("alpha=any beta=any"));
}

TEST(CudaServed, CompilesWithoutSpills) {
  use_test_libraries();
  if (const auto toolchain = find_cuda_toolchain(""); !toolchain) {
    GTEST_SKIP() << toolchain.error().message;
  }
  const ScratchFolder folder;
  CompileOptions options;
  options.needs = "cuda";
  options.cache_directory = folder.path();
  Result<Compiler> compiler = Compiler::create(options);
  ASSERT_TRUE(compiler) << compiler.error().message;
  for (const Case& c : kCases) {
    const CompileResult result = compiler->compile(made(c, Form::served));
    ASSERT_TRUE(result.binary) << result.finding.detail;
    EXPECT_EQ(result.binary->cubin.spill_stores, 0) << c.program;
    EXPECT_FALSE(result.binary->cubin.wgmma_serialized) << c.program;
  }
}

}  // namespace
}  // namespace tilewright
