// SPDX-License-Identifier: Apache-2.0
// The chained form of CUDA kernels: the plain text with another flag and launch; and (with NVRTC
// and nvdisasm, no device) machine code that lets the next grid start and waits once, where the
// plain one does neither.
#include "base/scratch_folder.h"
#include "compile/compile.h"
#include "compile/cuda_toolchain.h"
#include "cuda_libraries.h"
#include "device/invented_gpu.h"
#include "generate/generate.h"
#include "generate/machine_code.h"

#include <gmock/gmock.h>

namespace tilewright {
namespace {

using ::testing::HasSubstr;

struct Case {
  const char* program;
  const char* problem;
};
constexpr std::array kCases = {
    Case{"sm80 form=direct tile_m=16 tile_n=16 warps_k=4 ahead=2 split_k=1 raster=m group=1 "
         "sizes=static",
         "gemm 64x64x128 f16 nn"},
    Case{"sm80 form=tile tile_m=64 tile_n=64 tile_k=64 warps_m=2 warps_n=2 warps_k=1 stages=4 "
         "fragments=double copies=together split_k=1 epilogue=exchange raster=m group=8 "
         "sizes=runtime",
         "gemm 4096x4096x4096 f16 nn"},
    Case{"sm90 schedule=cooperative consumers=2 tile_m=128 tile_n=128 tile_k=64 stages=6 split_k=1 "
         "cluster=2x1 grid=persistent in_flight=1 epilogue=tma raster=m group=8 sizes=runtime",
         "gemm 4096x4096x4096 f16 nt"}};

Result<Source> made(const Case& c, Form form, const Device& device = invented_h200()) {
  return generate(parse_program(c.program).value(), parse_problem(c.problem).value(), device, form);
}

TEST(CudaChained, IsThePlainTextCompiledAndLaunchedOtherwise) {
  for (const Case& c : kCases) {
    const Source plain = made(c, Form::plain).value(), chained = made(c, Form::chained).value();
    EXPECT_EQ(chained.text, plain.text);
    EXPECT_EQ(chained.headers, plain.headers);
    std::vector<std::string> flags = plain.flags;
    flags.emplace_back("--define-macro=TW_CHAINED");
    EXPECT_EQ(chained.flags, flags);
    Launch launch = plain.launch;
    EXPECT_FALSE(launch.cuda.chained);
    launch.cuda.chained = true;
    EXPECT_EQ(chained.launch, launch);
  }
}

TEST(CudaChained, IsRefusedWhereNothingCanBeChained) {
  Device ampere = invented_h200();
  ampere.isa = {"sm80"};
  ampere.cuda.capability = 80;
  const auto old = made(kCases[1], Form::chained, ampere);
  ASSERT_FALSE(old);
  EXPECT_THAT(old.error().message, HasSubstr("9.0 or later"));
  const auto rows =
      made({"cuda-rows cta=128 row_threads=128 vector=8 keep=f32 passes=separate sizes=static",
            "softmax 1024x1024 f16"},
           Form::chained);
  EXPECT_FALSE(rows);
}

TEST(CudaChained, WaitsOnceAndPlainKernelsNever) {
  use_test_libraries();
  if (const auto toolchain = find_cuda_toolchain(""); !toolchain) {
    GTEST_SKIP() << toolchain.error().message;
  }
  const auto disassembler = find_nvdisasm();
  if (!disassembler) GTEST_SKIP() << "no nvdisasm";
  const ScratchFolder folder;
  CompileOptions options;
  options.needs = "cuda";
  options.cache_directory = folder.path();
  Result<Compiler> compiler = Compiler::create(options);
  ASSERT_TRUE(compiler) << compiler.error().message;
  for (const Case& c : kCases) {
    for (const Form form : {Form::plain, Form::chained}) {
      const CompileResult result = compiler->compile(made(c, form).value());
      ASSERT_TRUE(result.binary) << result.finding.detail;
      EXPECT_EQ(result.binary->cubin.spill_stores, 0) << c.program;
      const auto code = disassemble(*disassembler, result.binary->path);
      ASSERT_TRUE(code);
      const int times = form == Form::chained ? 1 : 0;
      EXPECT_EQ(code->count("PREEXIT"), times) << c.program;
      EXPECT_EQ(code->count("ACQBULK"), times) << c.program;
    }
  }
}

}  // namespace
}  // namespace tilewright
