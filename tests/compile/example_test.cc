// SPDX-License-Identifier: Apache-2.0
// The kernel in examples/ compiles as a candidate from outside does, and its launch file is one.
// tests/gpu proves what it computes.
#include "compile/compile.h"

#include "base/file.h"
#include "base/scratch_folder.h"
#include "cuda_libraries.h"
#include "device/invented_gpu.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

TEST(Example, TheTiledKernelIsACandidate) {
  use_test_libraries();
  const std::string path = TILEWRIGHT_SOURCE_DIR "/examples/tiled_gemm";
  const auto text = read_file(path + ".cu");
  const auto launch_text = read_file(path + ".launch.json");
  ASSERT_TRUE(text && launch_text);
  const auto launch = launch_from_json(*launch_text);
  ASSERT_TRUE(launch) << launch.error().message;
  EXPECT_EQ(launch->target, "cuda");
  const ScratchFolder folder;
  CompileOptions options;
  options.needs = "cuda";
  options.cache_directory = folder.path();
  auto compiler = Compiler::create(options);
  if (!compiler) GTEST_SKIP() << "no CUDA compiler: " << compiler.error().message;
  const CompileResult built = compiler->compile(foreign_source(*text, *launch, invented_a100()));
  ASSERT_TRUE(built.binary) << built.finding.rule << ": " << built.finding.detail;
  EXPECT_EQ(built.binary->cubin.spill_stores, 0);
}

}  // namespace
}  // namespace tilewright
