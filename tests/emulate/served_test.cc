// SPDX-License-Identifier: Apache-2.0
// Served kernels with a bias and each activation, and the activations alone: what no other test of
// this folder asks for.
#include "base/scratch_folder.h"
#include "device/invented_gpu.h"
#include "emulate/emulate.h"
#include "program/program.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

struct ServedCase {
  const char* program;
  const char* problem;
};

class EmulatedServed : public ::testing::TestWithParam<ServedCase> {};

TEST_P(EmulatedServed, AddsBiasAndActivation) {
  const auto program = parse_program(GetParam().program);
  ASSERT_TRUE(program) << program.error().message;
  const auto problem = parse_problem(std::string(GetParam().problem) + " alpha=any beta=any");
  ASSERT_TRUE(problem) << problem.error().message;
  Device device = invented_h200();
  device.cuda.multiprocessors = 4;
  const auto source = generate(*program, *problem, device, Form::served);
  ASSERT_TRUE(source) << source.error().message;
  const ScratchFolder folder;
  const auto kernel = Emulated::compile(*source, folder.path());
  ASSERT_TRUE(kernel) << kernel.error().message;
  EmulatedCall call;
  call.problem = *problem;
  call.sizes = {problem->m - 3, problem->n - 1, problem->k};
  for (int activation = 0; activation < 4; ++activation) {
    call.seed = static_cast<std::uint64_t>(activation);
    call.activation = activation;
    call.bias = activation != 1;
    // Small sums, so that gelu and silu are tried where they bend.
    call.alpha = activation > 1 ? 0.0625F : 1.0F;
    call.beta = activation % 2 == 0 ? 0.0F : -0.5F;
    EXPECT_EQ(kernel->run(call), "") << activation;
  }
  call.sizes.k = 0;
  call.alpha = 1;
  if (program->family().name == "sm80") {
    EXPECT_EQ(kernel->run(call), "");
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kernels, EmulatedServed,
    ::testing::Values(
        ServedCase{"sm80 form=direct tile_m=16 tile_n=16 warps_k=4 ahead=2 split_k=1 raster=m "
                   "group=1 sizes=runtime",
                   "40x40x130 bf16 nt out=f32 lda=131 ldb=133 ldc=41"},
        ServedCase{"sm80 form=tile tile_m=64 tile_n=64 tile_k=64 warps_m=2 warps_n=2 warps_k=1 "
                   "stages=4 fragments=double copies=together split_k=1 epilogue=exchange raster=m "
                   "group=1 sizes=runtime",
                   "70x80x200 f16 tn batch=2"},
        ServedCase{"sm80 form=tile tile_m=64 tile_n=64 tile_k=64 warps_m=2 warps_n=2 warps_k=1 "
                   "stages=4 fragments=double copies=together split_k=1 epilogue=exchange raster=m "
                   "group=1 sizes=runtime",
                   "70x77x130 f16 nn"},
        ServedCase{"sm80 form=direct tile_m=16 tile_n=8 warps_k=2 ahead=2 split_k=1 raster=m "
                   "group=1 sizes=runtime",
                   "37x41x131 f16 nn batch=2"},
        ServedCase{"sm80 form=direct tile_m=16 tile_n=8 warps_k=8 ahead=2 split_k=8 "
                   "reduce=cluster raster=m group=1 sizes=runtime",
                   "24x11x4129 bf16 tt"},
        ServedCase{"sm80 form=tile tile_m=32 tile_n=32 tile_k=64 warps_m=1 warps_n=1 warps_k=4 "
                   "stages=2 fragments=single copies=together split_k=1 epilogue=exchange raster=m "
                   "group=1 sizes=runtime",
                   "37x46x130 bf16 nn"},
        ServedCase{"sm90 schedule=cooperative consumers=1 tile_m=64 tile_n=64 tile_k=128 stages=2 "
                   "split_k=1 cluster=1x1 grid=tiles in_flight=1 epilogue=exchange raster=m "
                   "group=1 sizes=runtime",
                   "104x80x264 f16 nn"},
        ServedCase{"sm90 schedule=cooperative consumers=1 tile_m=64 tile_n=32 tile_k=64 stages=2 "
                   "split_k=2 reduce=cluster in_flight=1 epilogue=direct raster=m group=1 "
                   "sizes=runtime",
                   "72x40x256 bf16 nt"},
        ServedCase{"sm90 schedule=swapped consumers=1 tile_m=64 tile_n=32 tile_k=64 stages=3 "
                   "split_k=1 cluster=1x1 grid=tiles in_flight=1 epilogue=exchange raster=m "
                   "group=1 sizes=runtime",
                   "24x136x264 f16 nt"},
        ServedCase{"sm90 schedule=swapped consumers=2 tile_m=128 tile_n=48 tile_k=64 stages=2 "
                   "split_k=2 reduce=cluster in_flight=1 epilogue=exchange raster=m group=1 "
                   "sizes=runtime",
                   "40x200x256 bf16 nn out=f32"}));

}  // namespace
}  // namespace tilewright
