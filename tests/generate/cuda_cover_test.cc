// SPDX-License-Identifier: Apache-2.0
// A launch and its kernel agree, seen from the host: all CTAs together compute each tile of C once
// from each tile of K, boxes of tensor maps fill a stage, and memory suffices. The device headers'
// own arithmetic is compared with what is assumed here where gcc can run it.
#include "generate/cuda_cover.h"
#include "generate/cuda_duty.h"
#include "generate/generate.h"
#include "launch/cuda/call.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>
#include <tuple>

#if !defined(__clang__)
#include "generate/cuda_on_host.h"
#endif

namespace tilewright {
namespace {

constexpr CudaOperands kOperands = {0x10000, 0x20000, 0x30000, 0x40000};

std::int64_t up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

// Every tile once for each slice, every tile of K once in one of the slices.
void check_cover(const Placement& p, const CudaCall& call, const GemmShape& s, std::int64_t batch) {
  const std::int64_t rows = up(s.m, p.tile_m), columns = up(s.n, p.tile_n);
  // In twelfths, which slices of a tile are whole numbers of.
  constexpr int kWhole = 12;
  std::vector<int> seen(static_cast<std::size_t>(batch * rows * columns * p.split), 0);
  std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>> slices;
  std::map<std::int64_t, std::vector<std::int64_t>> k_of_slice;
  std::int64_t outside = 0;
  for (unsigned z = 0; z < call.grid[2]; ++z) {
    for (unsigned y = 0; y < call.grid[1]; ++y) {
      for (unsigned x = 0; x < call.grid[0]; ++x) {
        const Duty duty = duty_of(p, s.m, s.n, s.k, batch, call.grid, {x, y, z});
        ASSERT_FALSE(duty.pieces.empty()) << "CTA " << x << " has nothing to do";
        ASSERT_LT(duty.slice, p.split);
        const auto& known = k_of_slice.try_emplace(duty.slice, duty.k).first->second;
        ASSERT_EQ(known, duty.k);
        for (const Duty::Piece& piece : duty.pieces) {
          ASSERT_LT(piece.entry, batch);
          if (piece.tile.m >= rows || piece.tile.n >= columns) {
            if (piece.cut == 0) ++outside;
            continue;
          }
          if (piece.cuts > 1) {
            EXPECT_TRUE(slices.insert({piece.entry, piece.tile.m, piece.tile.n, piece.cut}).second);
          }
          seen[static_cast<std::size_t>(
              ((piece.entry * rows + piece.tile.m) * columns + piece.tile.n) * p.split +
              duty.slice)] += kWhole / static_cast<int>(piece.cuts);
        }
      }
    }
  }
  EXPECT_EQ(std::ranges::count(seen, kWhole), static_cast<std::ptrdiff_t>(seen.size()));
  // What lies outside is what fills the last clusters.
  EXPECT_EQ(outside,
            batch * p.split *
                (up(rows, p.cluster_m) * p.cluster_m * up(columns, p.cluster_n) * p.cluster_n -
                 rows * columns));
  std::vector<std::int64_t> k;
  for (const auto& [slice, some] : k_of_slice) k.insert(k.end(), some.begin(), some.end());
  std::ranges::sort(k);
  ASSERT_EQ(static_cast<std::int64_t>(k.size()), up(s.k, p.tile_k));
  for (std::size_t i = 0; i < k.size(); ++i) EXPECT_EQ(k[i], static_cast<std::int64_t>(i));
}

// An operand that no map describes has a copy in the workspace, behind what else lies there.
void check_copy(const MapDescription& map, const CudaCall& call, int aligned,
                cuda::Pointer operand) {
  if (aligned == 8) {
    EXPECT_EQ(map.address, operand);
    return;
  }
  const std::uint64_t columns = (map.dimensions[0] + 7) / 8 * 8;
  EXPECT_EQ(map.strides[0], 2 * columns);
  EXPECT_EQ(map.strides[1], 2 * columns * map.dimensions[1]);
  EXPECT_EQ(map.address % 256, 0U);
  const auto at = static_cast<std::int64_t>(map.address - kOperands.workspace);
  const auto bytes = static_cast<std::int64_t>(map.strides[1] * map.dimensions[2]);
  EXPECT_GE(at, call.zeroed_bytes);
  EXPECT_LE(at + bytes, call.workspace_bytes);
  EXPECT_EQ(call.before.size(), 1U);
}

// Boxes of A and B fill one stage; what the copy engine and wgmma want of them holds. `operands`:
// at which addresses.
void check_maps(const Program& p, const Problem& problem, const CudaCall& call, const GemmShape& s,
                std::array<cuda::Pointer, 2> operands) {
  const std::int64_t m = p.number("tile_m"), n = p.number("tile_n"), k = p.number("tile_k");
  const Placement place = placement_of(p);
  const CudaAlignment aligned = alignment_of(problem);
  const bool gathers = p.word("schedule") == "gather";
  const std::array<bool, 2> described = {aligned.a == 8 || !gathers, aligned.b == 8 || !gathers};
  const bool stores = cuda_family::stores_by_map(p.word("epilogue"));
  ASSERT_EQ(call.maps.size(),
            static_cast<std::size_t>(described[0] + described[1] + (stores ? 1 : 0)));
  std::int64_t stage = 0;
  std::size_t next = 0;
  for (int i = 0; i < 2; ++i) {
    if (!described[static_cast<std::size_t>(i)]) {  // threads copy it
      stage += (i == 0 ? m : n) * k * 2;
      continue;
    }
    const MapDescription& map = call.maps[next++];
    const bool along_k = i == 0 ? !problem.a_transposed : problem.b_transposed;
    const std::int64_t extent = i == 0 ? m : n, size = i == 0 ? s.m : s.n;
    const std::int64_t parts = i == 0 ? place.cluster_n : place.cluster_m;
    const std::int64_t boxes = (along_k ? k : extent) / map.box[0];
    EXPECT_EQ((along_k ? k : extent) % map.box[0], 0);
    stage += boxes * parts * map.box[0] * map.box[1] * 2;
    EXPECT_LE(map.box[1], 256U);
    EXPECT_EQ(map.box[1] % 8, 0U) << "whole groups of eight rows";
    EXPECT_EQ(map.box[2], 1U);
    const std::uint32_t bytes = map.box[0] * 2;
    EXPECT_EQ(map.swizzle, bytes == 128  ? cuda::kSwizzle128
                           : bytes == 64 ? cuda::kSwizzle64
                                         : cuda::kSwizzle32);
    EXPECT_EQ(map.dimensions[0], static_cast<std::uint64_t>(along_k ? s.k : size));
    EXPECT_EQ(map.dimensions[1], static_cast<std::uint64_t>(along_k ? size : s.k));
    EXPECT_EQ(map.strides[0] % 16, 0U);
    check_copy(map, call, i == 0 ? aligned.a : aligned.b, operands[static_cast<std::size_t>(i)]);
  }
  EXPECT_EQ(stage, (m + n) * k * 2);
}

void check_memory(const Program& p, const Problem& problem, const Device& device,
                  const CudaCall& call, const GemmShape& s) {
  const std::int64_t m = p.number("tile_m"), n = p.number("tile_n"), split = p.number("split_k");
  std::int64_t need = 0;
  if (p.family().name == "sm90") {
    const std::int64_t consumers = p.word("schedule") == "single"     ? 1
                                   : p.word("schedule") == "pingpong" ? 2
                                                                      : p.number("consumers");
    std::int64_t ring = p.number("stages") * (m + n) * p.number("tile_k") * 2;
    if (p.word("reduce") == "cluster") ring = std::max(ring, m * n * 4);
    const bool staged = p.word("epilogue") != "direct" && p.word("epilogue") != "exchange";
    const std::int64_t wide = n % 64 == 0 ? 64 : n % 32 == 0 ? 32 : 16;
    const std::int64_t stores = staged ? consumers * 2 * 64 * wide * 2 : 0;
    // Up to 1008 bytes before the ring, two barriers a stage and a flag behind it.
    need = 1008 + ring + stores + 16 * p.number("stages") + 4;
    EXPECT_GE(call.threads, static_cast<unsigned>(128 * consumers));
  } else {
    const std::int64_t groups = p.number("warps_k");
    const bool tiled = p.word("form") == "tile";
    need = tiled ? p.number("stages") * (m + n) * p.number("tile_k") * 2 : 4;
    need = std::max(need, (tiled ? groups - 1 : groups > 1 ? groups : 0) * m * n * 4);
    if (p.word("reduce") == "cluster") need = std::max(need, m * n * 4);
    if (p.word("epilogue") == "shared") need = std::max(need, m * (n + 8) * 2);
  }
  EXPECT_GE(call.shared_bytes, need);
  EXPECT_LE(call.shared_bytes, device.cuda.shared_per_block);

  // Copies of operands, those behind everything else.
  std::int64_t copies = 0;
  for (const MapDescription& map : call.maps) {
    if (map.address < kOperands.workspace) continue;
    copies += static_cast<std::int64_t>(map.strides[1] * map.dimensions[2]);
  }
  // Counters in front, whole 256 bytes; then 16 bytes for each thread, piece and slice.
  const std::int64_t tiles = up(s.m, m) * up(s.n, n) * problem.batch;
  if (p.word("reduce") == "workspace" || p.word("reduce") == "spread") {
    const std::int64_t warps = p.family().name == "sm90" ? call.threads / 128 * 4
                               : p.word("form") == "direct"
                                   ? 1
                                   : p.number("warps_m") * p.number("warps_n");
    EXPECT_GE(call.zeroed_bytes, tiles * 4 * (p.word("reduce") == "spread" ? warps : 1));
    EXPECT_EQ(call.zeroed_bytes % 256, 0);
    EXPECT_GE(call.workspace_bytes, call.zeroed_bytes + tiles * split * m * n * 4 + copies);
  } else if (p.find_word("grid") == "stream") {
    // For each tile that is cut, a counter for a warpgroup and an f32 tile for a slice.
    const Placement place = placement_of(p);
    const std::int64_t wave = call.grid[0] / place.cluster();
    const std::int64_t all =
        up(up(s.m, m), place.cluster_m) * up(up(s.n, n), place.cluster_n) * problem.batch;
    const std::int64_t cuts = cuda_family::stream_cuts(all, wave, up(s.k, p.number("tile_k")));
    const std::int64_t cut = cuts > 1 ? all % wave * place.cluster() : 0;
    EXPECT_GE(call.zeroed_bytes, cut * p.number("consumers") * 4);
    EXPECT_EQ(call.zeroed_bytes % 256, 0);
    EXPECT_GE(call.workspace_bytes, call.zeroed_bytes + cut * cuts * m * n * 4 + copies);
  } else {
    EXPECT_EQ(call.zeroed_bytes, 0);
    EXPECT_EQ(call.workspace_bytes >= copies && call.workspace_bytes <= copies + 256, true);
  }
}

std::vector<GemmShape> shapes_within(const Problem& p) {
  std::vector<GemmShape> shapes = {{p.m, p.n, p.k}};
  if (p.m > 1 && p.n > 1 && p.k > 1) {
    shapes.push_back({p.m - 1, p.n - 1, p.k - 1});
    shapes.push_back(
        {std::max<std::int64_t>(p.m / 3, 1), p.n - p.n / 5, std::max<std::int64_t>(p.k / 2, 1)});
    shapes.push_back({1, 1, 1});
  }
  return shapes;
}

TEST(CudaLaunchCover, EveryTileOnceAndMemoryEnough) {
  int calls = 0;
  for (const Candidate& candidate : covering_candidates(240, 5)) {
    const Program& program = candidate.program;
    const auto source = generate(program, candidate.problem, candidate.device);
    ASSERT_TRUE(source.has_value()) << source.error().message;
    const Placement place = placement_of(program);
    for (const GemmShape& shape : shapes_within(candidate.problem)) {
      if (source->launch.m && shape != shapes_within(candidate.problem).front()) continue;
      SCOPED_TRACE(candidate.text() + " called with " + std::to_string(shape.m) + "x" +
                   std::to_string(shape.n) + "x" + std::to_string(shape.k));
      const int sms = candidate.device.cuda.multiprocessors;
      const std::int64_t slots = sms / place.cluster() * place.cluster() * (calls % 2 + 1);
      const auto call =
          resolve(source->launch, candidate.problem, shape, kOperands, 1.0F, 0.0F, sms, slots);
      ASSERT_TRUE(call.has_value()) << call.error().message;
      EXPECT_EQ(call->cluster[0] * call->cluster[1] * call->cluster[2],
                place.hopper             ? place.cluster()
                : place.split_in_cluster ? place.split
                                         : 1);
      // Tiles of C^T: the rest holds of that product.
      const bool turned = place.hopper && program.word("schedule") == "swapped";
      const Problem seen = turned ? swapped(candidate.problem) : candidate.problem;
      const GemmShape tiled = turned ? GemmShape{shape.n, shape.m, shape.k} : shape;
      std::array<cuda::Pointer, 2> operands = {kOperands.a, kOperands.b};
      if (turned) std::swap(operands[0], operands[1]);
      check_memory(program, seen, candidate.device, *call, tiled);
      if (place.hopper) check_maps(program, seen, *call, tiled, operands);
      const std::uint64_t ctas = std::uint64_t{call->grid[0]} * call->grid[1] * call->grid[2];
      if (ctas < 40000) check_cover(place, *call, tiled, candidate.problem.batch);
      if (HasFatalFailure()) return;
      ++calls;
    }
  }
  EXPECT_GT(calls, 400);
}

#if !defined(__clang__)

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

#endif

}  // namespace
}  // namespace tilewright
