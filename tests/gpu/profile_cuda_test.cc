// SPDX-License-Identifier: Apache-2.0
// Real counters of a real kernel, where there is a device and Nsight Compute may read them.
#include "base/scratch_folder.h"
#include "device/cuda/detect.h"
#include "generate/generate.h"
#include "profile/profiler.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

namespace tilewright {
namespace {

constexpr const char* kProgram =
    "sm80 form=tile tile_m=64 tile_n=32 tile_k=32 warps_m=2 warps_n=1 warps_k=1 stages=3 "
    "fragments=single copies=together split_k=1 epilogue=direct raster=m group=1 sizes=runtime";

TEST(ProfileCuda, OursAndTheVendors) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device";
  const auto device = detect_cuda(0);
  ASSERT_TRUE(device) << device.error().message;
  std::string said;
  ProfilerOptions options;
  options.log = [&](const std::string& line) { said += line + "\n"; };
  auto profiler = Profiler::open(*device, options);
  if (!profiler) GTEST_SKIP() << profiler.error().message;
  const Problem problem = *parse_problem("1024x1024x1024 f16 nn");
  const auto vendor = profiler->baseline(problem, "cublaslt_heuristic");
  if (!vendor) GTEST_SKIP() << vendor.error().message;  // counters that may not be read
  EXPECT_NE(vendor->choice.find("algo="), std::string::npos);
  EXPECT_GT(vendor->profile.values.at("tensor_pct"), 5) << said;
  EXPECT_GT(vendor->profile.values.at("dram_read_bytes"), 1e6);
  EXPECT_FALSE(vendor->profile.stall.empty());

  const auto program = parse_program(kProgram);
  ASSERT_TRUE(program) << program.error().message;
  const auto source = generate(*program, problem, *device);
  ASSERT_TRUE(source) << source.error().message;
  const ScratchFolder folder;
  CompileOptions compile;
  compile.needs = "cuda";
  compile.cache_directory = folder.path();
  auto compiler = Compiler::create(compile);
  if (!compiler) GTEST_SKIP() << compiler.error().message;
  const CompileResult built = compiler->compile(*source);
  ASSERT_TRUE(built.binary) << built.finding.detail;
  const auto ours = profiler->candidate(problem, *built.binary);
  ASSERT_TRUE(ours) << ours.error().message;
  EXPECT_TRUE(ours->finding.ok()) << ours->finding.detail;
  EXPECT_EQ(ours->profile.kernels.size(), 1U);
  EXPECT_GT(ours->time_us, 0);
  EXPECT_GT(ours->profile.values.at("tensor_pct"), 5) << said;
  EXPECT_EQ(ours->profile.values.at("registers"), built.binary->cubin.registers);
}

}  // namespace
}  // namespace tilewright
