// SPDX-License-Identifier: Apache-2.0
// Golden text of generated kernels, the workspace expressions against the device headers, and the
// embedded headers against the files.
#include "generate/generate.h"

#include "device/invented_gpu.h"
#include "golden_text.h"
#include "program/devices.h"
#include "program/family_cpu.h"
#include "program/space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "generate/cpu/device/blocked.h"
#include "generate/cpu/device/direct.h"
#include "generate/cpu/device/dot.h"
#include "generate/cpu/device/isa_scalar.h"

namespace tilewright {
namespace {

using ::testing::HasSubstr;

std::string read_text(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

struct Golden {
  const char* name;
  const char* problem;
  const char* program;
};
constexpr Golden kGolden[] = {
    {"cpu_direct", "8x1536x1024 f16 acc=f32 nn",
     "cpu isa=avx512 form=direct threads=2 split=n mr=4 nr=64 kc=256 nc=768 packa=f32 unroll=2 "
     "prefetch=8 order=nm sizes=runtime"},
    {"cpu_dot", "1x4096x1024 bf16 acc=f32 nt out=f32",
     "cpu isa=avx512bf16 form=dot threads=1 mr=1 nr=8 packa=none unroll=2 prefetch_bytes=512 "
     "order=mn sizes=runtime"},
    {"cpu_blocked_static", "128x1536x1024 bf16 acc=f32 nn",
     "cpu isa=avx512bf16 form=blocked threads=2 split=mn mr=12 nr=32 kc=512 mc=96 nc=384 "
     "packb=pair unroll=4 prefetch=4 order=nm sizes=static"},
    {"sm80_tile", "1024x1024x4096 f16 acc=f32 nt alpha=any beta=any",
     "sm80 form=tile tile_m=128 tile_n=128 tile_k=64 warps_m=2 warps_n=4 warps_k=1 stages=3 "
     "fragments=double copies=staggered split_k=1 epilogue=exchange raster=n group=4 "
     "sizes=runtime"},
    {"sm80_direct_static", "1x4096x1000 bf16 acc=f32 nn batch=2",
     "sm80 form=direct tile_m=16 tile_n=32 warps_k=4 ahead=2 split_k=4 reduce=workspace raster=m "
     "group=1 sizes=static"},
    {"sm90_cooperative", "4096x4096x4096 f16 acc=f32 nn",
     "sm90 schedule=cooperative consumers=2 tile_m=128 tile_n=256 tile_k=64 stages=4 split_k=1 "
     "cluster=2x1 grid=persistent in_flight=1 epilogue=tma raster=m group=8 sizes=runtime"},
    {"sm90_pingpong", "4096x4096x4096 bf16 acc=f32 nt out=f32",
     "sm90 schedule=pingpong tile_m=64 tile_n=192 tile_k=128 stages=3 split_k=1 cluster=1x1 "
     "grid=persistent in_flight=0 epilogue=exchange raster=n group=4 sizes=static"},
    {"sm90_packed", "1023x1001x999 f16 acc=f32 nn batch=2",
     "sm90 schedule=cooperative consumers=2 tile_m=128 tile_n=128 tile_k=64 stages=6 split_k=1 "
     "cluster=1x1 grid=tiles in_flight=1 epilogue=shared raster=m group=4 sizes=runtime"},
    {"sm90_single_split", "64x512x8192 f16 acc=f16 tn",
     "sm90 schedule=single tile_m=64 tile_n=48 tile_k=64 stages=6 split_k=8 reduce=cluster "
     "in_flight=1 epilogue=direct raster=m group=1 sizes=runtime"},
};

class GoldenText : public ::testing::TestWithParam<Golden> {};

TEST_P(GoldenText, IsUnchanged) {
  const Program program = parse_program(GetParam().program).value();
  const Problem problem = parse_problem(GetParam().problem).value();
  const bool cpu = program.family().name == "cpu";
  const auto source = generate(program, problem, cpu ? avx512_device(2) : invented_h200());
  ASSERT_TRUE(source.has_value()) << source.error().message;
  expect_golden(std::string(GetParam().name) + (cpu ? ".cc.txt" : ".cu.txt"),
                source->text + "// launch " + to_json(source->launch) + "\n");
}

INSTANTIATE_TEST_SUITE_P(Families, GoldenText, ::testing::ValuesIn(kGolden),
                         [](const auto& param) { return std::string(param.param.name); });

TEST(Generate, RefusesAnIllegalProgramWithTheReason) {
  const Program program = parse_program(kGolden[0].program).value();
  const auto source =
      generate(program, parse_problem("8x64x64 f16 acc=f32 nt").value(), avx512_device(2));
  ASSERT_FALSE(source.has_value());
  EXPECT_THAT(source.error().message, HasSubstr("B is stored n x k"));
}

TEST(Generate, CarriesTheReviewedHeadersUnchangedAndInOrder) {
  const auto source = generate(parse_program(kGolden[0].program).value(),
                               parse_problem(kGolden[0].problem).value(), avx512_device(2));
  ASSERT_TRUE(source.has_value());
  std::string before;
  for (const auto& [name, text] : source->headers) {
    EXPECT_EQ(text, read_text(std::string(TILEWRIGHT_SOURCE_DIR "/src/") + name)) << name;
    before += text;
  }
  EXPECT_GE(source->headers.size(), 5U);
  EXPECT_THAT(before, HasSubstr("struct tw_cpu_gemm_args"));
  const std::string whole = self_contained(*source);
  EXPECT_EQ(whole.find("#include \""), std::string::npos);
  EXPECT_LT(whole.find("struct Gemm"), whole.find("struct DirectPlan"));
}

// The numbers that the device headers themselves use, for random legal programs.
std::int64_t header_bytes(const Program& p, const Problem& problem) {
  using namespace tw::cpu;
  const Dims d = {problem.m, problem.n, problem.k};
  const std::int64_t threads = p.number("threads");
  Split split = Split::kN;
  if (p.word("split") == "m") split = Split::kM;
  if (p.word("split") == "mn") split = Split::kMN;
  if (p.word("split") == "k") split = Split::kK;
  if (p.word("split") == "batch") split = Split::kBatch;
  const int mr = static_cast<int>(p.number("mr")), nr = static_cast<int>(p.number("nr"));
  const PackA packa = p.word("packa") == "f32" ? PackA::kF32 : PackA::kNone;
  if (p.word("form") == "direct") {
    DirectPlan plan;
    plan.mr = mr, plan.nr = nr, plan.kc = p.number("kc"), plan.nc = p.number("nc");
    plan.packa = packa, plan.split = split;
    return threads * direct_space(plan, d, threads).total();
  }
  if (p.word("form") == "dot") {
    DotPlan plan;
    plan.mr = mr, plan.nr = nr, plan.packa = packa, plan.split = split;
    return threads * dot_space(plan, d, threads).total();
  }
  BlockedPlan plan;
  plan.mr = mr, plan.nr = nr, plan.kc = p.number("kc"), plan.mc = p.number("mc");
  plan.nc = p.number("nc"), plan.split = split;
  plan.packb = p.word("packb") == "f32"    ? PackB::kF32
               : p.word("packb") == "half" ? PackB::kHalf
                                           : PackB::kPair;
  return threads * blocked_space(plan, d, threads).total();
}

TEST(Generate, WorkspaceExpressionsAgreeWithTheHeaders) {
  Rng rng(23);
  const Device device = avx512_device(4);
  int checked = 0;
  for (const char* layout : {"nn", "nt", "tn", "tt"}) {
    for (int shape = 0; shape < 8; ++shape) {
      Problem problem;
      problem.m = static_cast<std::int64_t>(1 + rng.below(300));
      problem.n = static_cast<std::int64_t>(1 + rng.below(3000));
      problem.k = static_cast<std::int64_t>(1 + rng.below(2000));
      problem.in = problem.out = rng.below(2) == 0 ? ElementType::f16 : ElementType::bf16;
      problem.a_transposed = layout[0] == 't';
      problem.b_transposed = layout[1] == 't';
      const Space space(cpu_family(), problem, device);
      for (int i = 0; i < 60; ++i) {
        const Program program = space.sample(rng).value();
        const auto source = generate(program, problem, device);
        ASSERT_TRUE(source.has_value()) << source.error().message;
        const auto bytes = workspace_bytes(source->launch, problem);
        ASSERT_TRUE(bytes.has_value()) << source->launch.workspace << bytes.error().message;
        EXPECT_EQ(*bytes, header_bytes(program, problem)) << program.text() << "\n"
                                                          << source->launch.workspace << "\n"
                                                          << to_text(problem);
        ++checked;
      }
    }
  }
  EXPECT_EQ(checked, 4 * 8 * 60);
}

}  // namespace
}  // namespace tilewright
