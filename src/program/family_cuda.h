// SPDX-License-Identifier: Apache-2.0
// The families of CUDA kernels: `sm80` (cp.async, ldmatrix, mma.sync; from Ampere on) and `sm90`
// (tensor copies, wgmma; Hopper), and what their tables share. The kernels that the decisions
// select are in src/generate/cuda/device; docs/program-language.md explains each decision.
#pragma once

#include "program/vocabulary.h"

#include <algorithm>

namespace tilewright {

[[nodiscard]] const Family& sm80_family();
[[nodiscard]] const Family& sm90_family();

// Decisions and rules that mean the same in both.
namespace cuda_family {

[[nodiscard]] Decision split_k();  // CTAs to a tile
[[nodiscard]] Decision reduce();   // exists if split_k > 1
[[nodiscard]] Decision raster();
[[nodiscard]] Decision raster_in_blocks();
[[nodiscard]] Decision group();
[[nodiscard]] Decision sizes();

// The problem's operation, types and sizes, and that the device has `feature` (sm80, sm90a).
[[nodiscard]] std::vector<Rule> common_rules(std::string_view feature, std::vector<Op> ops);

[[nodiscard]] constexpr std::int64_t tiles_of(std::int64_t size, std::int64_t tile) {
  return tile <= 0 ? 0 : (size + tile - 1) / tile;
}
// "key=word" of a decision, for reasons.
[[nodiscard]] std::string said(const Choices& choices, std::string_view key);
// A tile that is at least twice as large as what it covers computes more than half for nothing;
// `least` is the family's smallest.
[[nodiscard]] std::optional<std::string> oversized(const Choices& choices, std::string_view key,
                                                   std::int64_t size, std::int64_t least);
// Groups of more tiles than there are along the raster's axis.
[[nodiscard]] std::optional<std::string> surplus_group(const Choices& choices, std::int64_t tiles_m,
                                                       std::int64_t tiles_n);
// What a program of sm90 says of clusters: m x n CTAs that share A and B by multicast.
struct Cluster {
  int m = 1, n = 1;
};
[[nodiscard]] Cluster cluster_of(std::string_view word);
// Whether a producer of sm90 is a warpgroup that gives registers to `consumers` others, whose
// threads hold `sums` accumulators each (as Sm90Gemm::kDonates), and by the epilogue a tile that
// waits beside them.
[[nodiscard]] constexpr bool gives_registers(std::int64_t consumers, std::int64_t sums,
                                             std::string_view epilogue) {
  const std::int64_t held = epilogue == "overlapped" ? sums * 2
                            : epilogue == "deferred" ? sums * 3 / 2
                                                     : sums;
  return held > (consumers == 3 ? 64 : consumers == 2 ? 104 : 192);
}
// grid=stream: into how many slices of K a tile is cut of those that `tiles` leave beside whole
// waves of `wave` (as tw::cuts_of); 1: none is.
[[nodiscard]] constexpr std::int64_t stream_cuts(std::int64_t tiles, std::int64_t wave,
                                                 std::int64_t steps) {
  if (wave <= 0 || tiles < wave || tiles % wave == 0) return 1;
  const std::int64_t left = tiles % wave, most = std::min<std::int64_t>(4, steps / 4);
  const std::int64_t one = std::min(wave / left, most),
                     two = std::min(15 * wave / (8 * left), most);
  return std::max<std::int64_t>(two > 2 * one ? two : one, 1);
}
// Whether an epilogue of sm90 has the copy engine store C.
[[nodiscard]] constexpr bool stores_by_map(std::string_view epilogue) {
  return epilogue == "tma" || epilogue == "deferred" || epilogue == "overlapped";
}
// Columns of the chunks, of 64 rows, in which a staged epilogue of sm90 stores a tile; where they
// do not divide it the last one overlaps with the one before (as TileStores::kPieces).
[[nodiscard]] constexpr std::int64_t store_columns(std::int64_t tile_n) {
  if (tile_n % 64 == 0) return 64;
  if (tile_n % 32 == 0) return 32;
  return tile_n > 64 ? 64 : tile_n > 32 ? 32 : 16;
}
// Bytes of shared memory that a warpgroup needs for them: two chunks.
[[nodiscard]] constexpr std::int64_t store_bytes(std::int64_t tile_n) {
  return 2 * 64 * store_columns(tile_n) * 2;
}
// The problem as a kernel of sm90 sees it: with schedule=swapped, whose tiles are of C^T, A and B,
// M and N are the other way round (problem.h).
[[nodiscard]] Problem seen_by(std::string_view schedule, const Problem& problem);
// The largest power of two, at most 8, by which rows of a stored operand (and batch entries) are
// apart: what vector loads and tensor maps may rely on.
[[nodiscard]] int alignment_of(std::int64_t stride, std::int64_t rows, std::int64_t batch);

}  // namespace cuda_family

// Elements by which rows of A, B, C are aligned.
struct CudaAlignment {
  int a = 8, b = 8, c = 8;
};
[[nodiscard]] CudaAlignment alignment_of(const Problem& problem);
// Bytes of copies of A and B with rows of whole 16 bytes, of each that no tensor map describes.
[[nodiscard]] std::int64_t packed_bytes(const Problem& problem);

}  // namespace tilewright
