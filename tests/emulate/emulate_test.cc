// SPDX-License-Identifier: Apache-2.0
// Programs of the CUDA families, run on the host (machine.h): small problems, programs that take
// every value of every decision that a small problem allows, some seeds each. For a longer look set
// TILEWRIGHT_EMULATE to a number of random programs for each problem.
#include "emulate/emulate.h"

#include "base/scratch_folder.h"
#include "generate/cuda_cover.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace tilewright {
namespace {

constexpr std::size_t kPrograms = 48;
constexpr std::size_t kParts = 8;
constexpr std::uint64_t kSeed = 5;

struct Place {
  const Family* family;
  int sms;  // few, so that small problems have many tiles for each; more, so that K may be split
  const char* problem;
};
const std::vector<Place>& places() {
  static const std::vector<Place> all = {
      {&sm90_family(), 4, "264x264x264 f16 acc=f32 nn"},
      {&sm80_family(), 4, "200x136x264 f16 acc=f32 nn"},
      {&sm90_family(), 4, "200x328x264 bf16 acc=f32 nt"},
      {&sm80_family(), 4, "136x264x136 bf16 acc=f32 tn"},
      {&sm90_family(), 16, "136x136x1032 f16 acc=f16 tn alpha=any beta=one"},
      {&sm80_family(), 16, "72x72x1032 f16 acc=f16 nt"},
      {&sm90_family(), 4, "264x136x328 bf16 acc=f32 tt out=f32"},
      {&sm80_family(), 4, "77x103x555 f16 acc=f32 nn"},
      {&sm90_family(), 4, "140x203x333 f16 acc=f32 nn"},
      {&sm90_family(), 4, "300x202x460 bf16 acc=f32 nt batch=2"},
      {&sm90_family(), 16, "72x264x1032 f16 acc=f32 nn batch=2"},
      {&sm80_family(), 16, "33x202x1002 bf16 acc=f32 tn out=f32"},
      {&sm90_family(), 4, "520x392x136 f16 acc=f32 tn"},
      {&sm80_family(), 4, "17x36x900 f16 acc=f16 tt beta=one batch=2"},
      {&sm90_family(), 16, "200x264x1032 bf16 acc=f32 nt"},
      {&sm80_family(), 16, "40x264x520 bf16 acc=f32 nt alpha=any beta=any batch=2"},
      {&sm80_family(), 16, "1x520x1032 f16 acc=f32 nn"},
      {&sm90_family(), 16, "24x520x520 f16 acc=f32 nt"},
  };
  return all;
}

CoverGround ground_of(const Place& place) {
  CoverGround ground{place.family, invented_h200(), parse_problem(place.problem).value()};
  ground.device.cuda.multiprocessors = place.sms;
  return ground;
}

EmulatedCall call_of(const Candidate& candidate, std::uint64_t seed) {
  const Problem& p = candidate.problem;
  EmulatedCall call;
  call.problem = p;
  call.sizes = {p.m, p.n, p.k};
  call.alpha = p.alpha == AlphaClass::one ? 1.0F : 2.0F;
  call.beta = p.beta == BetaClass::zero ? 0.0F : p.beta == BetaClass::one ? 1.0F : -1.0F;
  call.sms = candidate.device.cuda.multiprocessors;
  call.seed = seed;
  return call;
}

// What is wrong with a program under so many seeds; with the last a call that is smaller by `less`.
void expect_right(const Candidate& candidate, std::uint64_t first_seed, int seeds,
                  const GemmShape& less = {7, 11, 13}) {
  SCOPED_TRACE(candidate.text());
  const auto source = generate(candidate.program, candidate.problem, candidate.device);
  ASSERT_TRUE(source) << source.error().message;
  const ScratchFolder folder;
  const auto kernel = Emulated::compile(*source, folder.path());
  ASSERT_TRUE(kernel) << kernel.error().message;
  for (int i = 0; i < seeds; ++i) {
    EmulatedCall call = call_of(candidate, first_seed + static_cast<std::uint64_t>(i));
    if (i + 1 == seeds && candidate.program.word("sizes") == "runtime") {
      call.sizes = {std::max<std::int64_t>(call.sizes.m - less.m, 1),
                    std::max<std::int64_t>(call.sizes.n - less.n, 1), call.sizes.k - less.k};
    }
    EXPECT_EQ(kernel->run(call), "") << "seed " << call.seed;
  }
}

// Operands that are copied before: sizes, addresses and batches that copies must get right.
TEST(Emulated, CopiedOperandsAreRight) {
  const auto program = [](const char* rest) {
    return parse_program(std::string("sm90 schedule=") + rest).value();
  };
  const Program plain = program(
      "cooperative consumers=1 tile_m=64 tile_n=64 tile_k=64 stages=2 split_k=1 cluster=1x1 "
      "grid=tiles in_flight=1 epilogue=direct raster=m group=1 sizes=runtime");
  const Program spread = program(
      "cooperative consumers=1 tile_m=64 tile_n=64 tile_k=64 stages=2 split_k=3 reduce=spread "
      "cluster=1x1 in_flight=1 epilogue=direct raster=m group=1 sizes=runtime");
  const Program workspace = program(
      "single tile_m=64 tile_n=64 tile_k=64 stages=2 split_k=3 reduce=workspace "
      "in_flight=1 epilogue=exchange raster=m group=1 sizes=runtime");
  struct Case {
    const Program* program;
    const char* problem;
    std::int64_t shift = 0;
    bool same_b = false;
    GemmShape less = {};  // by how much the call's sizes are below the problem's
  };
  const Case cases[] = {
      {&plain, "71x75x129 f16 acc=f32 nn"},
      {&plain, "71x75x129 f16 acc=f32 nt", 1},
      {&plain, "70x75x129 bf16 acc=f32 tn", 3},
      {&plain, "71x74x135 f16 acc=f32 tt", 7},
      {&plain, "71x75x129 f16 acc=f32 nn batch=3", 0, true},
      {&plain, "71x75x129 f16 acc=f32 tt batch=3", 1, true},
      {&plain, "71x75x130 f16 acc=f32 tn batch=2", 5, false, {3, 1, 7}},
      {&plain, "71x75x129 f16 acc=f32 nt lda=140 ldb=133", 2, false, {0, 0, 1}},
      {&plain, "71x72x129 f16 acc=f32 nn", 0, false, {0, 0, 129}},  // K = 0
      {&plain, "71x72x129 f16 acc=f32 tt", 0, false, {71, 0, 0}},
      {&plain, "71x72x129 f16 acc=f32 nn", 0, false, {70, 71, 128}},
      {&spread, "71x75x265 f16 acc=f32 nn", 1},
      {&spread, "71x75x265 f16 acc=f32 tt batch=2", 0, false, {1, 2, 3}},
      {&workspace, "71x75x265 f16 acc=f32 tn", 2},
      {&workspace, "71x75x265 f16 acc=f32 nt batch=2", 0, true},
  };
  for (const Case& c : cases) {
    Device device = invented_h200();
    device.cuda.multiprocessors = 16;
    const Problem problem = parse_problem(c.problem).value();
    const auto source = generate(*c.program, problem, device);
    ASSERT_TRUE(source) << source.error().message;
    ASSERT_EQ(source->launch.cuda.before.size(), 1U) << c.problem;
    const ScratchFolder folder;
    const auto kernel = Emulated::compile(*source, folder.path());
    ASSERT_TRUE(kernel) << kernel.error().message;
    EmulatedCall call = call_of({device, problem, *c.program}, 0);
    call.shift = c.shift;
    call.same_b = c.same_b;
    call.sizes = {problem.m - c.less.m, problem.n - c.less.n, problem.k - c.less.k};
    for (call.seed = 0; call.seed < 2; ++call.seed) {
      EXPECT_EQ(kernel->run(call), "") << c.problem << ", " << c.program->text();
    }
  }
}

// What meets by chance too rarely: large clusters, tiles that wait to be stored, blocks of tiles.
TEST(Emulated, LargeClustersAreRight) {
  struct Case {
    const char *program, *problem;
  };
  constexpr Case kCases[] = {
      {"sm90 schedule=cooperative consumers=1 tile_m=64 tile_n=64 tile_k=64 stages=3 split_k=1 "
       "cluster=4x2 grid=persistent in_flight=0 epilogue=deferred raster=m4 group=8 sizes=runtime",
       "2024x264x200 bf16 acc=f32 nt"},
      {"sm90 schedule=cooperative consumers=2 tile_m=128 tile_n=64 tile_k=64 stages=2 split_k=1 "
       "cluster=1x4 grid=persistent in_flight=1 epilogue=deferred raster=n4 group=8 sizes=static",
       "264x2000x72 f16 acc=f32 tn"},
  };
  for (const Case& c : kCases) {
    const CoverGround ground = ground_of({&sm90_family(), 8, c.problem});
    expect_right({ground.device, ground.problem, parse_program(c.program).value()}, 0, 3);
  }
}

// Tiles of C^T: few rows, every layout, type, way to add slices and to store; rows that no wide
// store reaches.
TEST(Emulated, SwappedTilesAreRight) {
  struct Case {
    const char *rest, *problem, *epilogue = "exchange";
  };
  constexpr Case kCases[] = {
      {"consumers=1 tile_m=64 tile_n=16 tile_k=64 stages=3 split_k=1 cluster=1x1 grid=tiles",
       "1x328x264 f16 acc=f32 nt"},
      {"consumers=1 tile_m=64 tile_n=16 tile_k=64 stages=3 split_k=1 cluster=2x1 grid=tiles",
       "8x520x264 bf16 acc=f32 nn"},
      {"consumers=1 tile_m=128 tile_n=32 tile_k=128 stages=2 split_k=1 cluster=1x1 "
       "grid=persistent",
       "24x2312x264 f16 acc=f32 tn"},
      {"consumers=2 tile_m=128 tile_n=16 tile_k=64 stages=4 split_k=4 reduce=cluster",
       "16x264x1032 bf16 acc=f32 tt"},
      {"consumers=1 tile_m=64 tile_n=48 tile_k=64 stages=2 split_k=3 reduce=spread cluster=1x1",
       "40x200x1032 f16 acc=f32 nt batch=2"},
      {"consumers=3 tile_m=192 tile_n=32 tile_k=64 stages=2 split_k=2 reduce=workspace cluster=1x1",
       "32x264x520 f16 acc=f32 nt alpha=any beta=any"},
      {"consumers=1 tile_m=64 tile_n=32 tile_k=64 stages=3 split_k=1 cluster=1x2 grid=tiles",
       "56x136x264 f16 acc=f16 nn beta=one"},
      {"consumers=2 tile_m=256 tile_n=64 tile_k=64 stages=2 split_k=1 cluster=1x1 grid=tiles",
       "64x264x136 bf16 acc=f32 nt out=f32"},
      {"consumers=1 tile_m=64 tile_n=16 tile_k=64 stages=3 split_k=1 cluster=1x1 grid=tiles",
       "9x203x264 f16 acc=f32 nt ldc=205"},
      {"consumers=2 tile_m=128 tile_n=160 tile_k=64 stages=2 split_k=1 cluster=2x1 "
       "grid=persistent",
       "520x1160x136 f16 acc=f32 nn", "tma"},
      {"consumers=2 tile_m=128 tile_n=176 tile_k=64 stages=3 split_k=1 cluster=1x1 "
       "grid=persistent",
       "400x1304x520 bf16 acc=f32 nn", "deferred"},
      {"consumers=1 tile_m=64 tile_n=32 tile_k=64 stages=3 split_k=1 cluster=1x1 grid=tiles",
       "24x333x200 f16 acc=f32 nt ldc=336", "tma"},
      {"consumers=2 tile_m=256 tile_n=64 tile_k=64 stages=2 split_k=1 cluster=1x2 grid=tiles",
       "128x520x136 f16 acc=f32 tn", "tma"},
  };
  for (const Case& c : kCases) {
    for (const char* sizes : {"static", "runtime"}) {
      const CoverGround ground = ground_of({&sm90_family(), 16, c.problem});
      const auto program =
          parse_program(std::string("sm90 schedule=swapped ") + c.rest +
                        " in_flight=1 epilogue=" + c.epilogue + " raster=m group=1 sizes=" + sizes);
      ASSERT_TRUE(program) << program.error().message;
      EXPECT_TRUE(is_legal(*program, ground.problem, ground.device)) << c.problem;
      expect_right({ground.device, ground.problem, *program}, 0, 3);
    }
  }
}

// Tiles of an even and an odd number for each CTA, with less of K than chunks to store and with
// more; rows of C that no whole chunk ends.
TEST(Emulated, OverlappedTilesAreRight) {
  struct Case {
    const char *rest, *problem;
  };
  constexpr Case kCases[] = {
      {"schedule=cooperative consumers=1 tile_m=64 tile_n=64 tile_k=64 stages=3 cluster=1x1",
       "392x264x72 f16 acc=f32 nt"},
      {"schedule=cooperative consumers=2 tile_m=128 tile_n=176 tile_k=64 stages=2 cluster=2x1",
       "776x700x200 bf16 acc=f32 nt ldc=704"},
      {"schedule=cooperative consumers=2 tile_m=256 tile_n=64 tile_k=128 stages=2 cluster=1x2",
       "520x520x520 f16 acc=f32 tn"},
      {"schedule=cooperative consumers=3 tile_m=192 tile_n=48 tile_k=64 stages=4 cluster=1x1",
       "400x264x328 f16 acc=f32 nn batch=2"},
      {"schedule=swapped consumers=2 tile_m=128 tile_n=80 tile_k=64 stages=3 cluster=1x1",
       "392x520x136 f16 acc=f32 nn"},
  };
  for (const Case& c : kCases) {
    for (const char* sizes : {"static", "runtime"}) {
      const CoverGround ground = ground_of({&sm90_family(), 4, c.problem});
      const auto program =
          parse_program(std::string("sm90 ") + c.rest +
                        " split_k=1 grid=persistent in_flight=1 epilogue=overlapped raster=m "
                        "group=1 sizes=" +
                        sizes);
      ASSERT_TRUE(program) << program.error().message;
      EXPECT_TRUE(is_legal(*program, ground.problem, ground.device)) << c.rest << " " << c.problem;
      expect_right({ground.device, ground.problem, *program}, 0, 6);
    }
  }
}

// Tiles that are cut along K: one is left over beside whole waves, and several; every way to store;
// clusters; a batch; sizes at which a run-time kernel cuts nothing.
TEST(Emulated, StreamsAreRight) {
  struct Case {
    const char *rest, *problem;
    GemmShape less = {7, 11, 13};
  };
  constexpr Case kCases[] = {
      {"schedule=cooperative consumers=1 tile_m=64 tile_n=64 tile_k=64 stages=3 split_k=1 "
       "cluster=1x1 grid=stream in_flight=1 epilogue=tma",
       "264x64x520 f16 acc=f32 nt"},
      {"schedule=cooperative consumers=2 tile_m=128 tile_n=64 tile_k=64 stages=2 split_k=1 "
       "cluster=1x1 grid=stream in_flight=0 epilogue=deferred",
       "264x192x1032 bf16 acc=f32 nn"},
      {"schedule=cooperative consumers=1 tile_m=64 tile_n=32 tile_k=64 stages=4 split_k=1 "
       "cluster=2x1 grid=stream in_flight=1 epilogue=exchange",
       "328x20x520 f16 acc=f32 tn alpha=any beta=any"},
      {"schedule=cooperative consumers=3 tile_m=192 tile_n=64 tile_k=64 stages=2 split_k=1 "
       "cluster=1x2 grid=stream in_flight=0 epilogue=direct",
       "136x600x520 f16 acc=f32 nt out=f32"},
      {"schedule=cooperative consumers=1 tile_m=64 tile_n=48 tile_k=128 stages=2 split_k=1 "
       "cluster=1x1 grid=stream in_flight=1 epilogue=exchange",
       "72x140x1032 bf16 acc=f32 nt batch=3"},
      {"schedule=cooperative consumers=1 tile_m=64 tile_n=64 tile_k=64 stages=3 split_k=1 "
       "cluster=1x1 grid=stream in_flight=1 epilogue=tma",
       "264x264x520 f16 acc=f16 nn",
       {200, 0, 0}},
      {"schedule=cooperative consumers=1 tile_m=64 tile_n=64 tile_k=64 stages=3 split_k=1 "
       "cluster=1x1 grid=stream in_flight=1 epilogue=direct",
       "264x264x520 f16 acc=f32 nn alpha=any beta=one",
       {0, 0, 515}},
      {"schedule=swapped consumers=2 tile_m=128 tile_n=48 tile_k=64 stages=3 split_k=1 "
       "cluster=1x1 grid=stream in_flight=1 epilogue=deferred",
       "136x264x1032 f16 acc=f32 nn"},
      {"schedule=swapped consumers=1 tile_m=64 tile_n=16 tile_k=64 stages=3 split_k=1 "
       "cluster=1x1 grid=stream in_flight=1 epilogue=exchange",
       "16x340x1032 f16 acc=f32 nt"},
  };
  for (const Case& c : kCases) {
    for (const char* sizes : {"static", "runtime"}) {
      const CoverGround ground = ground_of({&sm90_family(), 4, c.problem});
      const auto program =
          parse_program(std::string("sm90 ") + c.rest + " raster=m group=1 sizes=" + sizes);
      ASSERT_TRUE(program) << program.error().message;
      EXPECT_TRUE(is_legal(*program, ground.problem, ground.device)) << c.rest << " " << c.problem;
      expect_right({ground.device, ground.problem, *program}, 0, 6, c.less);
    }
  }
}

const std::vector<Candidate>& candidates() {
  static const std::vector<Candidate> all = [] {
    std::vector<CoverGround> grounds;
    for (const Place& place : places()) grounds.push_back(ground_of(place));
    return covering_candidates(kPrograms, kSeed, grounds);
  }();
  return all;
}

class EmulatedPart : public testing::TestWithParam<std::size_t> {};
TEST_P(EmulatedPart, IsRight) {
  for (std::size_t i = GetParam(); i < candidates().size(); i += kParts) {
    expect_right(candidates()[i], 3 * i, 3);
  }
}
INSTANTIATE_TEST_SUITE_P(Programs, EmulatedPart, testing::Range(std::size_t{0}, kParts));

TEST(Emulated, RandomProgramsAreRight) {
  const char* asked = std::getenv("TILEWRIGHT_EMULATE");
  if (asked == nullptr) GTEST_SKIP() << "TILEWRIGHT_EMULATE=N: N programs for each problem";
  Rng rng(static_cast<std::uint64_t>(std::atoi(asked)));
  for (int i = 0; i < std::atoi(asked); ++i) {
    for (const Place& place : places()) {
      const CoverGround ground = ground_of(place);
      const auto program = Space(*ground.family, ground.problem, ground.device).sample(rng);
      ASSERT_TRUE(program);
      expect_right({ground.device, ground.problem, *program}, rng.below(1000), 5);
    }
  }
}

}  // namespace
}  // namespace tilewright
