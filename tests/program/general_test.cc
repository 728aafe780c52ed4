// SPDX-License-Identifier: Apache-2.0
// The families of the general operations: what computes what, and that sampled programs are legal.
#include "device/invented_gpu.h"
#include "program/devices.h"
#include "program/space.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

constexpr const char* kProblems[] = {
    "softmax 1024x512 f16",     "layernorm 37x333 bf16 out=f32",       "reduce 64x4096 f16 fn=max",
    "map 100x100 bf16 fn=silu", "transpose 1000x72 f16 lda=80",        "softmax 1x7 f16",
    "transpose 3x3 bf16",       "conv2d 1x56x56x64 3x3x128 f16 pad=1", "conv2d 2x7x5x3 2x3x5 bf16"};

TEST(GeneralFamilies, OnePerProblemAndDevice) {
  for (const char* text : kProblems) {
    const auto problem = parse_problem(text);
    ASSERT_TRUE(problem) << problem.error().message;
    for (const Device& device :
         {avx512_device(2), avx2_device(1), invented_h200(), invented_a100()}) {
      const bool gpu = device.kind == DeviceKind::cuda;
      int able = 0;
      for (const Family* family : families()) {
        const Space space(*family, *problem, device);
        if (space.count() <= 0) continue;
        ++able;
        EXPECT_TRUE(family->computes(problem->op)) << family->name << " " << text;
        Rng rng(3);
        for (int i = 0; i < 30; ++i) {
          const auto program = space.sample(rng);
          ASSERT_TRUE(program);
          EXPECT_TRUE(is_legal(*program, *problem, device)) << program->text();
          EXPECT_EQ(parse_program(program->text()).value(), *program);
        }
      }
      EXPECT_EQ(able, 1) << text << (gpu ? " on a GPU" : "");
    }
  }
}

TEST(GeneralFamilies, GemmHasTheFamiliesItHad) {
  const Problem gemm = parse_problem("512x512x512").value();
  for (const Family* family : families()) {
    const bool any = Space(*family, gemm, avx512_device(2)).count() > 0;
    EXPECT_EQ(any, family->name == "cpu") << family->name;
  }
}

TEST(GeneralFamilies, CpuRulesRefuseWithReasons) {
  struct Case {
    const char* problem;
    const char* program;
    const char* rule;
  };
  constexpr Case kCases[] = {
      {"softmax 64x512 f16",
       "cpu-rows isa=avx512 threads=4 keep=none passes=separate unroll=1 prefetch_bytes=0 "
       "sizes=runtime",
       "threads-available"},
      {"softmax 1x512 f16",
       "cpu-rows isa=avx2 threads=2 keep=none passes=separate unroll=1 prefetch_bytes=0 "
       "sizes=runtime",
       "threads-rows"},
      {"map 64x512 f16",
       "cpu-rows isa=avx2 threads=2 keep=f32 passes=separate unroll=1 prefetch_bytes=0 "
       "sizes=runtime",
       "keep-passes"},
      {"layernorm 64x512 f16",
       "cpu-rows isa=avx2 threads=2 keep=none passes=joint unroll=1 prefetch_bytes=0 "
       "sizes=runtime",
       "passes-softmax"},
      {"softmax 64x512 f16",
       "cpu-rows isa=avx2 threads=2 keep=f32 passes=joint unroll=1 prefetch_bytes=0 sizes=runtime",
       "keep-joint"},
      {"softmax 64x32 f16",
       "cpu-rows isa=avx512 threads=2 keep=none passes=separate unroll=4 prefetch_bytes=0 "
       "sizes=runtime",
       "unroll-row"},
      {"softmax 2x32 f16",
       "cpu-rows isa=avx512 threads=2 keep=none passes=separate unroll=1 prefetch_bytes=256 "
       "sizes=runtime",
       "prefetch-row"},
      {"transpose 64x64 f16",
       "cpu-transpose isa=scalar threads=1 block=8 tile_m=16 tile_n=16 order=nm prefetch=0 "
       "sizes=runtime",
       "block-isa"},
      {"transpose 16x64 f16",
       "cpu-transpose isa=avx2 threads=2 split=m block=8 tile_m=16 tile_n=16 order=nm prefetch=0 "
       "sizes=runtime",
       "split-shares"},
      {"transpose 16x64 f16",
       "cpu-transpose isa=avx2 threads=1 block=8 tile_m=32 tile_n=16 order=nm prefetch=0 "
       "sizes=runtime",
       "tile-rows"},
      {"conv2d 1x8x8x8 3x3x32 f16",
       "cpu-conv2d isa=avx512 threads=2 split=n mr=4 nr=32 packa=f32 unroll=1", "split-shares"},
      {"conv2d 1x4x4x8 3x3x32 f16", "cpu-conv2d isa=avx512 threads=1 mr=8 nr=32 packa=f32 unroll=1",
       "tile-height"},
      {"conv2d 1x8x8x8 3x3x16 f16", "cpu-conv2d isa=avx512 threads=1 mr=8 nr=32 packa=f32 unroll=1",
       "tile-width"},
      {"conv2d 1x8x8x8 3x3x64 f16", "cpu-conv2d isa=avx2 threads=1 mr=8 nr=32 packa=f32 unroll=1",
       "registers"},
  };
  for (const Case& c : kCases) {
    const auto program = parse_program(c.program);
    ASSERT_TRUE(program) << program.error().message;
    const auto refused = refusals(*program, parse_problem(c.problem).value(), avx512_device(2));
    ASSERT_EQ(refused.size(), 1U) << c.program << " for " << c.problem;
    EXPECT_EQ(refused.front().rule, c.rule) << refused.front().reason;
  }
}

}  // namespace
}  // namespace tilewright
