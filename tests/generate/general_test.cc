// SPDX-License-Identifier: Apache-2.0
// Golden text of the general operations' kernels, and that those for GPUs compile for Ampere and
// Hopper.
#include "base/scratch_folder.h"
#include "compile/compile.h"
#include "compile/cuda_toolchain.h"
#include "cuda_libraries.h"
#include "device/invented_gpu.h"
#include "generate/generate.h"
#include "golden_text.h"
#include "program/devices.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

struct Row {
  const char* name;  // of its golden text, or empty
  const char* problem;
  const char* program;
};
constexpr Row kRows[] = {
    {"cpu_softmax", "softmax 1024x512 f16",
     "cpu-rows isa=avx512 threads=2 keep=f32 passes=separate unroll=4 prefetch_bytes=512 "
     "sizes=runtime"},
    {"cpu_transpose", "transpose 1024x512 bf16",
     "cpu-transpose isa=avx2 threads=2 split=n block=16 tile_m=64 tile_n=32 order=nm prefetch=8 "
     "sizes=static"},
    {"cpu_conv2d", "conv2d 1x56x56x64 3x3x128 bf16 stride=2 pad=1 out=f32",
     "cpu-conv2d isa=avx512 threads=1 mr=8 nr=32 packa=f32 unroll=2"},
    {"cuda_layernorm", "layernorm 1024x512 bf16 out=f32",
     "cuda-rows cta=256 row_threads=64 vector=8 keep=f32 passes=separate sizes=static"},
    {"cuda_transpose", "transpose 1024x512 f16",
     "cuda-transpose cta=256 tile_m=64 tile_n=64 vector=8 vector_c=4 pad=8 raster=n "
     "sizes=runtime"},
    {"cuda_conv2d", "conv2d 8x56x56x64 3x3x128 bf16 stride=2 pad=1",
     "sm80 form=tile tile_m=128 tile_n=128 tile_k=64 warps_m=2 warps_n=4 warps_k=1 stages=3 "
     "fragments=double copies=staggered split_k=1 epilogue=exchange raster=m group=1 sizes=static"},
    {"", "conv2d 1x224x224x3 7x7x64 f16 stride=2 pad=3",
     "sm80 form=tile tile_m=64 tile_n=64 tile_k=32 warps_m=2 warps_n=2 warps_k=1 stages=4 "
     "fragments=single copies=together split_k=2 reduce=cluster epilogue=direct raster=m group=1 "
     "sizes=static"},
    {"", "softmax 1024x4096 f16",
     "cuda-rows cta=512 row_threads=512 vector=8 keep=f32 passes=separate sizes=static"},
    {"", "softmax 1024x4096 bf16",
     "cuda-rows cta=256 row_threads=128 vector=8 keep=none passes=joint unroll=4 sizes=runtime"},
    {"", "reduce 1024x4095 f16 fn=max",
     "cuda-rows cta=128 row_threads=32 vector=1 keep=none passes=separate unroll=8 sizes=runtime"},
    {"", "map 1024x4096 bf16 fn=gelu out=f32",
     "cuda-rows cta=256 row_threads=256 vector=4 keep=none passes=separate unroll=2 "
     "sizes=runtime"},
    {"", "transpose 1001x512 bf16",
     "cuda-transpose cta=128 tile_m=32 tile_n=32 vector=2 vector_c=1 pad=2 raster=m sizes=static"},
};

Source source_of(const Row& row, const Device& device) {
  const auto source =
      generate(parse_program(row.program).value(), parse_problem(row.problem).value(), device);
  EXPECT_TRUE(source) << row.program << ": " << (source ? "" : source.error().message);
  return source ? *source : Source{};
}

TEST(General, TextsAreUnchanged) {
  for (const Row& row : kRows) {
    const std::string name = row.name;
    if (name.empty()) continue;
    const bool cpu = name.starts_with("cpu");
    const Source source = source_of(row, cpu ? avx512_device(2) : invented_h200());
    expect_golden(name + (cpu ? ".cc.txt" : ".cu.txt"),
                  source.text + "// launch " + to_json(source.launch) + "\n");
  }
}

TEST(General, GpuKernelsCompile) {
  use_test_libraries();
  if (!find_cuda_toolchain("")) {
    GTEST_SKIP() << "no NVRTC: scripts/bootstrap.sh build test installs it";
  }
  ScratchFolder folder;
  CompileOptions options;
  options.needs = "cuda";
  options.cache_directory = folder.path();
  auto compiler = Compiler::create(options);
  ASSERT_TRUE(compiler) << compiler.error().message;
  // Ampere and Hopper by turns.
  bool hopper = false;
  for (const Row& row : kRows) {
    if (!std::string_view(row.program).starts_with("cuda")) continue;
    hopper = !hopper;
    const CompileResult result =
        compiler->compile(source_of(row, hopper ? invented_h200() : invented_a100()));
    ASSERT_TRUE(result.binary) << row.program << ": " << result.finding.detail;
    const CubinFacts& facts = result.binary->cubin;
    EXPECT_EQ(facts.static_shared, 0) << row.program;
    // Assemblers trade a word or two for a round number of registers.
    EXPECT_LE(facts.spill_stores, 16) << row.program;
    EXPECT_LE(facts.registers * result.binary->launch.cuda.threads, 65536) << row.program;
  }
}

}  // namespace
}  // namespace tilewright
