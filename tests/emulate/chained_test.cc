// SPDX-License-Identifier: Apache-2.0
// Chained kernels beside a grid that still writes all their memory when they begin: right, and
// found out if they touch any of it before they wait.
#include "base/scratch_folder.h"
#include "device/invented_gpu.h"
#include "emulate/emulate.h"
#include "program/program.h"

#include <gtest/gtest.h>

#include <ostream>

namespace tilewright {
namespace {

constexpr int kSeeds = 6;

struct ChainedCase {
  const char* name;
  const char* program;
  const char* problem;
  const char* header;  // where it waits
};
constexpr ChainedCase kCases[] = {
    {"Direct",
     "sm80 form=direct tile_m=16 tile_n=16 warps_k=4 ahead=2 split_k=1 raster=m group=1 "
     "sizes=runtime",
     "40x40x130 bf16 nt lda=131 ldb=133 ldc=41 alpha=any beta=any", "sm80_direct.cuh"},
    {"DirectSplitInACluster",
     "sm80 form=direct tile_m=16 tile_n=8 warps_k=4 ahead=2 split_k=4 reduce=cluster raster=m "
     "group=1 sizes=runtime",
     "24x16x1040 f16 nn", "sm80_direct.cuh"},
    {"TiledThroughTheWorkspace",
     "sm80 form=tile tile_m=64 tile_n=32 tile_k=32 warps_m=2 warps_n=1 warps_k=1 stages=3 "
     "fragments=single copies=together split_k=4 reduce=workspace epilogue=direct raster=m group=1 "
     "sizes=runtime",
     "72x40x264 f16 nn alpha=any beta=any", "sm80_gemm.cuh"},
    {"Single",
     "sm90 schedule=single tile_m=64 tile_n=48 tile_k=64 stages=2 split_k=1 in_flight=1 "
     "epilogue=direct raster=m group=1 sizes=runtime",
     "72x104x264 bf16 tn", "sm90_gemm.cuh"},
    {"Multicast",
     "sm90 schedule=cooperative consumers=1 tile_m=64 tile_n=64 tile_k=64 stages=2 split_k=1 "
     "cluster=2x1 grid=tiles in_flight=1 epilogue=tma raster=m group=1 sizes=runtime",
     "200x136x264 f16 nt", "sm90_gemm.cuh"},
    {"SplitInACluster",
     "sm90 schedule=single tile_m=64 tile_n=64 tile_k=64 stages=2 split_k=4 reduce=cluster "
     "in_flight=1 epilogue=direct raster=m group=1 sizes=runtime",
     "72x72x520 f16 nt alpha=any beta=any", "sm90_gemm.cuh"},
    {"Streamed",
     "sm90 schedule=cooperative consumers=2 tile_m=128 tile_n=64 tile_k=64 stages=2 split_k=1 "
     "cluster=1x1 grid=stream in_flight=1 epilogue=direct raster=m group=1 sizes=runtime",
     "136x300x1032 f16 nt", "sm90_gemm.cuh"},
    {"Pingpong",
     "sm90 schedule=pingpong tile_m=64 tile_n=64 tile_k=64 stages=3 split_k=1 cluster=1x1 "
     "grid=persistent in_flight=1 epilogue=tma raster=m group=1 sizes=runtime",
     "264x136x264 f16 nn", "sm90_gemm.cuh"},
    {"Gathered",
     "sm90 schedule=gather consumers=1 tile_m=64 tile_n=64 tile_k=64 stages=2 split_k=1 "
     "grid=tiles in_flight=1 epilogue=direct raster=m group=1 sizes=runtime",
     "71x72x264 f16 nn lda=265", "sm90_gemm.cuh"},
    {"Swapped",
     "sm90 schedule=swapped consumers=1 tile_m=64 tile_n=32 tile_k=64 stages=3 split_k=1 "
     "cluster=1x1 grid=tiles in_flight=1 epilogue=exchange raster=m group=1 sizes=runtime",
     "24x136x264 f16 nt", "sm90_gemm.cuh"},
};
void PrintTo(const ChainedCase& given, std::ostream* out) {
  *out << given.name;
}

class EmulatedChained : public ::testing::TestWithParam<ChainedCase> {
 protected:
  // What is wrong under the first seed that shows anything.
  std::string found(const std::vector<Mutation>& mutations) {
    Device device = invented_h200();
    device.cuda.multiprocessors = 8;
    const Problem problem = parse_problem(GetParam().problem).value();
    const auto source =
        generate(parse_program(GetParam().program).value(), problem, device, Form::chained);
    if (!source) return source.error().message;
    const ScratchFolder folder;
    const auto kernel = Emulated::compile(*source, folder.path(), mutations);
    if (!kernel) return kernel.error().message;
    EmulatedCall call;
    call.problem = problem;
    call.sizes = {problem.m, problem.n, problem.k};
    if (problem.beta == BetaClass::any) call.beta = -0.5F;
    std::string wrong;
    for (int seed = 0; seed < kSeeds && wrong.empty(); ++seed) {
      call.seed = static_cast<std::uint64_t>(seed);
      wrong = kernel->run(call);
    }
    return wrong;
  }
};

TEST_P(EmulatedChained, TouchesNothingBeforeItWaits) {
  EXPECT_EQ(found({}), "");
}

TEST_P(EmulatedChained, IsCaughtIfItDoes) {
  const std::string wrong = found({{GetParam().header, "wait_chained();", ""}});
  EXPECT_NE(wrong, "");
  EXPECT_EQ(wrong.find("does not stand in"), std::string::npos) << wrong;
}

INSTANTIATE_TEST_SUITE_P(Kernels, EmulatedChained, ::testing::ValuesIn(kCases),
                         [](const auto& at) { return std::string(at.param.name); });

}  // namespace
}  // namespace tilewright
