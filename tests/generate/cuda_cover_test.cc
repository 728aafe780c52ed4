// SPDX-License-Identifier: Apache-2.0
// A launch and its kernel agree, seen from the host: all CTAs together compute each tile of C once
// from each tile of K, boxes of tensor maps fill a stage, and memory suffices. What is assumed here
// of the device headers cuda_headers_test.cc compares with them.
#include "generate/cuda_cover.h"
#include "generate/cuda_duty.h"
#include "generate/generate.h"
#include "launch/cuda/call.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>
#include <tuple>

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
      const std::int64_t bound =
          slots_bound(source->launch, candidate.problem, candidate.device.cuda);
      const std::int64_t slots =
          std::min<std::int64_t>(sms * (calls % 2 + 1), bound) / place.cluster() * place.cluster();
      const auto call =
          resolve(source->launch, candidate.problem, shape, kOperands, 1.0F, 0.0F, sms, slots);
      ASSERT_TRUE(call.has_value()) << call.error().message;
      // What is handed out before the cubin is loaded, for the whole problem, suffices.
      const auto handed = workspace_bytes(source->launch, candidate.problem, sms, bound);
      ASSERT_TRUE(handed.has_value()) << handed.error().message;
      EXPECT_LE(call->workspace_bytes, *handed);
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

}  // namespace
}  // namespace tilewright
