// SPDX-License-Identifier: Apache-2.0
// The device headers' own arithmetic, where gcc can run it, beside what the tests of launches
// assume (cuda_duty.h).
#include "generate/cuda_duty.h"
#include "generate/generate.h"
#include "launch/cuda/call.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#if !defined(__clang__)
#include "generate/cuda_cover.h"
#include "generate/cuda_on_host.h"

namespace tilewright {
namespace {

constexpr CudaOperands kOperands = {0x10000, 0x20000, 0x30000, 0x40000};

std::int64_t up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

struct NoWgmma {};

// The headers' plan() and work() against duty_of(), for every CTA of a grid.
template <tw::Sm90Config C>
void compare(const GemmShape& s, std::int64_t batch) {
  Placement p;
  p.hopper = true;
  p.tile_m = C.tile_m, p.tile_n = C.tile_n, p.tile_k = C.tile_k;
  p.cluster_m = C.cluster_m, p.cluster_n = C.cluster_n;
  p.persistent = C.persistent, p.stream = C.stream;
  p.split = C.split, p.group = C.group, p.along_n = C.raster_n;
  p.blocks = C.blocks;
  p.split_in_cluster = C.reduce == tw::Reduce::cluster;
  const std::int64_t total =
      up(up(s.m, p.tile_m), p.cluster_m) * up(up(s.n, p.tile_n), p.cluster_n) * batch * p.cluster();
  const auto ctas =
      static_cast<unsigned>(p.persistent ? std::min(total, 12 / p.cluster() * p.cluster()) : total);
  const unsigned slices = C.reduce == tw::Reduce::workspace ? static_cast<unsigned>(C.split) : 1U;
  gridDim = {ctas, slices, 1};
  tw::Sizes sizes = {};
  sizes.m = static_cast<int>(s.m);
  sizes.n = static_cast<int>(s.n);
  sizes.k = static_cast<int>(s.k);
  for (unsigned y = 0; y < slices; ++y) {
    for (unsigned x = 0; x < ctas; ++x) {
      blockIdx = {x, y, 0};
      const auto plan = tw::Sm90Tiles<C>::plan(sizes, static_cast<int>(batch), sizes.k);
      const Duty duty = duty_of(p, s.m, s.n, s.k, batch, {ctas, slices, 1}, {x, y, 0});
      std::vector<Duty::Piece> pieces;
      for (int i = plan.first; i < plan.total; i += plan.step) {
        const auto work = tw::Sm90Tiles<C>::work(plan, i);
        EXPECT_EQ(work.row0 % C.tile_m, 0);
        EXPECT_EQ(work.column0 % C.tile_n, 0);
        Duty::Piece piece{work.entry, {work.row0 / C.tile_m, work.column0 / C.tile_n}};
        if (i >= plan.whole) {
          piece.cut = tw::Sm90Tiles<C>::slice(plan, i).slice, piece.cuts = plan.cuts;
          // Slices follow each other, and each has something of K.
          const std::int64_t depth = plan.count_k;
          EXPECT_EQ(work.k.first, plan.first_k + piece.cut * depth / piece.cuts);
          EXPECT_EQ(work.k.first + work.k.count,
                    plan.first_k + (piece.cut + 1) * depth / piece.cuts);
          EXPECT_GT(work.k.count, 0);
        }
        pieces.push_back(piece);
      }
      ASSERT_EQ(pieces, duty.pieces) << "CTA " << x << ", " << y;
      if (duty.k.empty()) {  // one tile from beyond K, which reads as zeros
        ASSERT_EQ(plan.count_k, 1);
        ASSERT_GE(plan.first_k * C.tile_k, sizes.k);
      } else {
        ASSERT_EQ(static_cast<std::size_t>(plan.count_k), duty.k.size());
        ASSERT_EQ(plan.first_k, duty.k.front());
      }
    }
  }
}

template <tw::Sm90Config... C>
void compare_all() {
  for (const GemmShape& s :
       {GemmShape{1000, 900, 520}, {64, 64, 64}, {1, 333, 7}, {385, 1, 1000}, {449, 130, 2049}}) {
    for (const std::int64_t batch : {1, 3}) (compare<C>(s, batch), ...);
  }
}

TEST(CudaHeaders, PlansOfSm90AreTheAssumedOnes) {
  using tw::Reduce;
  compare_all<
      tw::Sm90Config{.group = 1}, tw::Sm90Config{.group = 4, .raster_n = true},
      tw::Sm90Config{.tile_n = 96, .cluster_m = 2, .group = 2},
      tw::Sm90Config{.tile_m = 64, .consumers = 1, .cluster_n = 2, .group = 8, .raster_n = true},
      tw::Sm90Config{
          .tile_m = 64, .tile_n = 64, .consumers = 1, .cluster_m = 2, .cluster_n = 2, .group = 2},
      tw::Sm90Config{.tile_m = 64, .tile_n = 32, .consumers = 1, .persistent = true, .group = 4},
      tw::Sm90Config{.tile_m = 64,
                     .tile_n = 32,
                     .consumers = 1,
                     .cluster_m = 2,
                     .persistent = true,
                     .group = 2},
      tw::Sm90Config{
          .tile_m = 64, .tile_n = 64, .consumers = 1, .persistent = true, .stream = true},
      tw::Sm90Config{.tile_m = 64,
                     .tile_n = 48,
                     .consumers = 1,
                     .cluster_n = 2,
                     .persistent = true,
                     .stream = true,
                     .group = 2},
      tw::Sm90Config{.tile_m = 64,
                     .tile_n = 48,
                     .consumers = 1,
                     .cluster_m = 2,
                     .cluster_n = 2,
                     .persistent = true,
                     .group = 1,
                     .raster_n = true},
      tw::Sm90Config{.tile_m = 64,
                     .tile_n = 64,
                     .schedule = tw::Schedule::single,
                     .consumers = 1,
                     .split = 4,
                     .reduce = Reduce::cluster},
      tw::Sm90Config{.tile_m = 64,
                     .tile_k = 128,
                     .schedule = tw::Schedule::single,
                     .consumers = 1,
                     .group = 2,
                     .split = 8,
                     .reduce = Reduce::workspace},
      tw::Sm90Config{.tile_m = 64,
                     .tile_n = 32,
                     .consumers = 1,
                     .cluster_n = 4,
                     .persistent = true,
                     .group = 8,
                     .blocks = true},
      tw::Sm90Config{.tile_m = 64,
                     .tile_n = 32,
                     .consumers = 1,
                     .cluster_m = 4,
                     .cluster_n = 2,
                     .group = 8,
                     .raster_n = true,
                     .blocks = true}>();
}

template <int kGroup, int kMajor = kGroup, int kMinor = 1>
void compare_rasters() {
  Placement p;
  p.group = kGroup;
  p.blocks = kMajor < kGroup;
  for (const int rows : {1, 2, 3, 5, 8, 33}) {
    for (const int columns : {1, 2, 7, 16, 31}) {
      for (int i = 0; i < rows * columns; ++i) {
        for (const bool along_n : {false, true}) {
          p.along_n = along_n;
          p.cluster_m = p.blocks ? 4 / (along_n ? kMinor : kMajor) : 1;
          p.cluster_n = p.blocks ? 4 / (along_n ? kMajor : kMinor) : 1;
          const tw::Tile tile = along_n
                                    ? tw::raster<kGroup, true, kMajor, kMinor>(i, rows, columns)
                                    : tw::raster<kGroup, false, kMajor, kMinor>(i, rows, columns);
          ASSERT_EQ((TileAt{tile.m, tile.n}), raster_of(p, i, rows, columns))
              << i << " of " << rows << "x" << columns << " group " << kGroup;
        }
      }
    }
  }
}

TEST(CudaHeaders, RasterWalksBands) {
  compare_rasters<1>();
  compare_rasters<2>();
  compare_rasters<4>();
  compare_rasters<8>();
  compare_rasters<32>();
}
TEST(CudaHeaders, RasterWalksBlocks) {
  compare_rasters<8, 4, 4>();
  compare_rasters<16, 4, 2>();
  compare_rasters<8, 2, 4>();
  compare_rasters<32, 1, 4>();
}
TEST(CudaHeaders, ClustersAreDealt) {
  for (const int count : {1, 2, 7, 8, 15, 66, 132}) {
    for (int i = 0; i < count; ++i) EXPECT_EQ(tw::dealt(i, count), dealt_of(i, count)) << count;
  }
}

// Boxes, parts and thread counts that the generator repeats from the headers.
template <tw::Sm90Config C>
void compare_constants(const char* program, const char* problem) {
  using Kernel = tw::Sm90Gemm<C, NoWgmma>;
  const auto source =
      generate(parse_program(program).value(), parse_problem(problem).value(), invented_h200());
  ASSERT_TRUE(source.has_value()) << source.error().message;
  const CudaLaunch& launch = source->launch.cuda;
  EXPECT_EQ(launch.threads, Kernel::kThreads) << program;
  EXPECT_EQ(launch.maps[0].columns, Kernel::A::kAtom) << program;
  EXPECT_EQ(launch.maps[0].rows, Kernel::A::kPartRows) << program;
  EXPECT_EQ(launch.maps[0].swizzle, Kernel::A::kSwizzle) << program;
  EXPECT_EQ(launch.maps[1].columns, Kernel::B::kAtom) << program;
  EXPECT_EQ(launch.maps[1].rows, Kernel::B::kPartRows) << program;
  const std::int64_t shared =
      1008 + Kernel::kRingBytes + C.consumers * Kernel::Stores::kBytes + 16 * C.stages + 16;
  EXPECT_EQ(launch.shared_bytes, std::to_string(shared)) << program;
}

// The step that copies has a CTA for each kOfBlock chunks of an entry.
TEST(CudaHeaders, PackingIsTheGenerators) {
  const auto source = generate(
      parse_program("sm90 schedule=single tile_m=64 tile_n=80 tile_k=64 stages=4 split_k=1 "
                    "in_flight=1 epilogue=direct raster=m group=1 sizes=runtime")
          .value(),
      parse_problem("300x4099x4097 f16 acc=f32 nt batch=3").value(), invented_h200());
  ASSERT_TRUE(source.has_value()) << source.error().message;
  const Problem problem = parse_problem("300x4099x4097 f16 acc=f32 nt batch=3").value();
  ASSERT_EQ(source->launch.cuda.before.size(), 1U);
  EXPECT_EQ(source->launch.cuda.before[0].threads, tw::Repack::kThreads);
  for (const GemmShape& s :
       {GemmShape{300, 4099, 4097}, {1, 1, 1}, {300, 1024, 8}, {129, 64, 64}, {300, 4099, 0}}) {
    const auto call = resolve(source->launch, problem, s, kOperands, 1, 0, 132, 132);
    ASSERT_TRUE(call.has_value()) << call.error().message;
    const auto blocks = [&](std::int64_t rows) {
      const tw::Repacked o{nullptr, 0, static_cast<int>(rows), static_cast<int>(s.k), 3, 0, 0};
      return 3 * tw::Repack::blocks_of_entry(o);
    };
    const std::int64_t both = blocks(s.m) + blocks(s.n);
    EXPECT_EQ(call->before[0].grid[0], std::max<std::int64_t>(both, 1)) << s.m << " " << s.k;
  }
}

TEST(CudaHeaders, ConstantsAreTheGenerators) {
  using enum tw::Schedule;
  compare_constants<tw::Sm90Config{
      .tile_m = 128, .tile_n = 256, .cluster_m = 2, .epilogue = tw::Epilogue::tma}>(
      "sm90 schedule=cooperative consumers=2 tile_m=128 tile_n=256 tile_k=64 stages=4 split_k=1 "
      "cluster=2x1 grid=tiles in_flight=1 epilogue=tma raster=m group=1 sizes=runtime",
      "4096x4096x4096 f16 acc=f32 nn");
  // Chunks of 64 columns, which do not divide the tile.
  compare_constants<tw::Sm90Config{.b_along_k = true,
                                   .tile_m = 128,
                                   .tile_n = 144,
                                   .stages = 5,
                                   .schedule = pingpong,
                                   .persistent = true,
                                   .epilogue = tw::Epilogue::tma}>(
      "sm90 schedule=pingpong tile_m=128 tile_n=144 tile_k=64 stages=5 split_k=1 cluster=1x1 "
      "grid=persistent in_flight=1 epilogue=tma raster=m group=1 sizes=runtime",
      "4096x4608x4096 f16 acc=f32 nt");
  compare_constants<tw::Sm90Config{.b_along_k = true,
                                   .tile_m = 192,
                                   .tile_n = 48,
                                   .stages = 5,
                                   .consumers = 3,
                                   .cluster_m = 2,
                                   .cluster_n = 2}>(
      "sm90 schedule=cooperative consumers=3 tile_m=192 tile_n=48 tile_k=64 stages=5 split_k=1 "
      "cluster=2x2 grid=tiles in_flight=1 epilogue=direct raster=m group=1 sizes=runtime",
      "4096x4096x4096 f16 acc=f32 nt");
  compare_constants<tw::Sm90Config{.tile_m = 256,
                                   .tile_n = 128,
                                   .stages = 3,
                                   .cluster_m = 2,
                                   .cluster_n = 4,
                                   .persistent = true,
                                   .epilogue = tw::Epilogue::deferred}>(
      "sm90 schedule=cooperative consumers=2 tile_m=256 tile_n=128 tile_k=64 stages=3 split_k=1 "
      "cluster=2x4 grid=persistent in_flight=1 epilogue=deferred raster=n4 group=8 sizes=runtime",
      "8192x8192x4096 f16 acc=f32 nn");
  compare_constants<tw::Sm90Config{.a_along_k = false,
                                   .tile_m = 64,
                                   .tile_n = 96,
                                   .tile_k = 128,
                                   .stages = 3,
                                   .schedule = pingpong,
                                   .persistent = true}>(
      "sm90 schedule=pingpong tile_m=64 tile_n=96 tile_k=128 stages=3 split_k=1 cluster=1x1 "
      "grid=persistent in_flight=1 epilogue=direct raster=m group=1 sizes=runtime",
      "4096x4096x4096 f16 acc=f32 tn");
  compare_constants<tw::Sm90Config{
      .tile_m = 64, .tile_n = 208, .stages = 3, .schedule = pingpong, .persistent = true}>(
      "sm90 schedule=pingpong tile_m=64 tile_n=208 tile_k=64 stages=3 split_k=1 cluster=1x1 "
      "grid=persistent in_flight=1 epilogue=direct raster=m group=1 sizes=runtime",
      "4096x4096x4096 f16 acc=f32 nn");
  compare_constants<tw::Sm90Config{
      .tile_m = 64, .tile_n = 80, .stages = 4, .schedule = single, .consumers = 1}>(
      "sm90 schedule=single tile_m=64 tile_n=80 tile_k=64 stages=4 split_k=1 in_flight=1 "
      "epilogue=direct raster=m group=1 sizes=runtime",
      "64x4096x4096 f16 acc=f32 nn");
}

}  // namespace
}  // namespace tilewright
#endif
