// SPDX-License-Identifier: Apache-2.0
// Programs of the general operations' CUDA families, run on the host (machine.h) and compared with
// the references of the proof.
#include "base/scratch_folder.h"
#include "device/invented_gpu.h"
#include "emulate/emulate.h"
#include "program/space.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tilewright {
namespace {

struct Case {
  const char* problem;
  const char* program;
};
constexpr Case kCases[] = {
    {"softmax 5x203 f16",
     "cuda-rows cta=128 row_threads=8 vector=1 keep=none passes=joint unroll=4 sizes=runtime"},
    {"softmax 3x1000 bf16",
     "cuda-rows cta=128 row_threads=128 vector=8 keep=f32 passes=separate sizes=static"},
    {"softmax 9x136 f16 out=f32",
     "cuda-rows cta=128 row_threads=32 vector=4 keep=none passes=separate unroll=1 sizes=runtime"},
    {"layernorm 5x520 f16",
     "cuda-rows cta=128 row_threads=64 vector=8 keep=none passes=separate unroll=2 sizes=runtime"},
    {"layernorm 7x200 bf16",
     "cuda-rows cta=128 row_threads=16 vector=2 keep=f32 passes=separate sizes=static"},
    {"reduce 9x333 f16 fn=sum",
     "cuda-rows cta=128 row_threads=32 vector=1 keep=none passes=separate unroll=8 sizes=runtime"},
    {"reduce 3x2048 bf16 fn=max",
     "cuda-rows cta=256 row_threads=256 vector=4 keep=none passes=separate unroll=2 sizes=static"},
    {"map 6x104 f16 fn=gelu",
     "cuda-rows cta=128 row_threads=16 vector=8 keep=none passes=separate unroll=1 sizes=runtime"},
    {"map 6x104 bf16 fn=silu out=f32",
     "cuda-rows cta=128 row_threads=8 vector=8 keep=none passes=separate unroll=2 sizes=runtime"},
    {"map 5x77 f16 fn=relu",
     "cuda-rows cta=128 row_threads=8 vector=1 keep=none passes=separate unroll=2 sizes=static"},
    {"transpose 72x136 f16",
     "cuda-transpose cta=128 tile_m=32 tile_n=64 vector=8 vector_c=4 pad=8 raster=n sizes=runtime"},
    {"transpose 75x37 bf16 ldc=80",
     "cuda-transpose cta=128 tile_m=64 tile_n=16 vector=1 vector_c=8 pad=1 raster=m sizes=static"},
    {"transpose 64x66 f16",
     "cuda-transpose cta=128 tile_m=16 tile_n=32 vector=2 vector_c=2 pad=2 raster=m sizes=runtime"},
    // Two images; the filter hangs over every edge.
    {"conv2d 2x9x11x16 3x3x24 f16 pad=1",
     "sm80 form=tile tile_m=64 tile_n=32 tile_k=32 warps_m=2 warps_n=1 warps_k=1 stages=3 "
     "fragments=single copies=together split_k=1 epilogue=direct raster=m group=1 sizes=static"},
    // Channels that no copy of two numbers divides, a filter that is no square.
    {"conv2d 1x10x7x3 5x3x16 bf16 stride=2 pad=2",
     "sm80 form=tile tile_m=32 tile_n=16 tile_k=32 warps_m=1 warps_n=1 warps_k=2 stages=2 "
     "fragments=single copies=together split_k=1 epilogue=exchange raster=n group=1 sizes=static"},
    // Pixels 20 apart of which 12 count: copies of four.
    {"conv2d 1x8x9x12 2x2x32 f16 lda=20 ldc=40",
     "sm80 form=tile tile_m=16 tile_n=32 tile_k=32 warps_m=1 warps_n=2 warps_k=1 stages=3 "
     "fragments=double copies=staggered split_k=1 epilogue=shared raster=m group=2 sizes=static"},
    {"conv2d 1x6x7x64 3x3x64 f16 pad=1 out=f32",
     "sm80 form=tile tile_m=32 tile_n=64 tile_k=64 warps_m=2 warps_n=2 warps_k=1 stages=4 "
     "fragments=double copies=together split_k=3 reduce=workspace epilogue=exchange raster=m "
     "group=1 sizes=static"},
    {"conv2d 2x5x6x32 1x1x16 bf16 stride=2",
     "sm80 form=tile tile_m=16 tile_n=16 tile_k=32 warps_m=1 warps_n=1 warps_k=1 stages=2 "
     "fragments=single copies=together split_k=1 epilogue=direct raster=m group=1 sizes=static"},
};

TEST(EmulatedOperations, AreRight) {
  const Device device = invented_h200();
  for (const Case& c : kCases) {
    SCOPED_TRACE(std::string(c.problem) + " | " + c.program);
    const auto problem = parse_problem(c.problem);
    const auto program = parse_program(c.program);
    ASSERT_TRUE(problem && program)
        << (problem ? program.error().message : problem.error().message);
    const auto source = generate(*program, *problem, device);
    ASSERT_TRUE(source) << source.error().message;
    const ScratchFolder folder;
    const auto kernel = Emulated::compile(*source, folder.path());
    ASSERT_TRUE(kernel) << kernel.error().message;
    EmulatedCall call;
    call.problem = *problem;
    call.sizes = {problem->m, problem->n, problem->k};
    EXPECT_EQ(kernel->run(call), "");
    if (program->word("sizes") == "static") continue;
    call.sizes = {problem->m - 2, problem->n - 5, 1};
    call.seed = 1;
    EXPECT_EQ(kernel->run(call), "") << "ragged";
  }
}

// A barrier left out shows.
TEST(EmulatedOperations, RacesAreSeen) {
  const auto problem = parse_problem("reduce 4x2048 f16 fn=sum").value();
  const auto program = parse_program(
                           "cuda-rows cta=128 row_threads=64 vector=8 keep=none passes=separate "
                           "unroll=1 sizes=runtime")
                           .value();
  const auto source = generate(program, problem, invented_h200());
  ASSERT_TRUE(source) << source.error().message;
  const ScratchFolder folder;
  const auto kernel = Emulated::compile(
      *source, folder.path(),
      {{"rows.cuh", "if (lane_id() == 0) shared[warp] = mine;\n      __syncthreads();",
        "if (lane_id() == 0) shared[warp] = mine;"}});
  ASSERT_TRUE(kernel) << kernel.error().message;
  std::string wrong;
  EmulatedCall call;
  call.problem = problem;
  call.sizes = {problem.m, problem.n, 1};
  for (call.seed = 0; call.seed < 8 && wrong.empty(); ++call.seed) wrong = kernel->run(call);
  EXPECT_NE(wrong, "");
}

}  // namespace
}  // namespace tilewright
