// SPDX-License-Identifier: Apache-2.0
// What each CTA of a CUDA launch computes, said once more and for any program at run time: tiles of
// C, and tiles of K of each. cuda_cover_test.cc checks that all CTAs together compute everything
// once, and that the device headers have the same in mind.
#pragma once

#include "program/family_cuda.h"
#include "program/program.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace tilewright {

// The decisions that place work.
struct Placement {
  bool hopper = false;  // sm90: grid (tiles * cluster, slices); sm80: (tiles, 1, batch * slices)
  bool direct = false;  // sm80 form=direct: warps take blocks of 32 of K in turn
  std::int64_t tile_m = 64, tile_n = 64, tile_k = 32;
  std::int64_t warps_k = 1;
  std::int64_t cluster_m = 1, cluster_n = 1;
  bool persistent = false, stream = false;
  std::int64_t split = 1;
  bool split_in_cluster = false;
  int group = 1;
  bool along_n = false, blocks = false;

  [[nodiscard]] std::int64_t cluster() const {
    return cluster_m * cluster_n * (hopper && split_in_cluster ? split : 1);
  }
};

inline Placement placement_of(const Program& p) {
  Placement out;
  out.hopper = p.family().name == "sm90";
  out.direct = !out.hopper && p.word("form") == "direct";
  out.tile_m = p.number("tile_m");
  out.tile_n = p.number("tile_n");
  out.tile_k = out.direct ? 32 : p.number("tile_k");
  out.warps_k = out.hopper ? 1 : p.number("warps_k");
  if (out.hopper) {
    if (const std::string_view cluster = p.word("cluster"); !cluster.empty()) {
      out.cluster_m = cluster.front() - '0';
      out.cluster_n = cluster.back() - '0';
    }
    out.stream = p.word("grid") == "stream";
    out.persistent = out.stream || p.word("grid") == "persistent";
  }
  out.split = p.number("split_k");
  out.split_in_cluster = p.word("reduce") == "cluster";
  out.group = static_cast<int>(p.number("group"));
  out.along_n = p.word("raster").front() == 'n';
  out.blocks = p.word("raster").back() == '4';
  return out;
}

struct TileAt {
  std::int64_t m = 0, n = 0;  // in tiles; of a cluster's last ones some may lie outside
  friend bool operator==(const TileAt&, const TileAt&) = default;
};

// Bands of `group` rows of tiles (columns, if along_n), one after the other; within a band column
// by column (row by row), or in blocks of 4 x 4 tiles, of which the first across come first, then
// those along. The last band and the last blocks may be smaller.
inline TileAt raster_of(const Placement& p, std::int64_t index, std::int64_t rows,
                        std::int64_t columns) {
  const std::int64_t bands_of = p.along_n ? columns : rows, length = p.along_n ? rows : columns;
  const std::int64_t block_across =
      p.blocks ? 4 / (p.along_n ? p.cluster_n : p.cluster_m) : p.group;
  const std::int64_t block_along = p.blocks ? 4 / (p.along_n ? p.cluster_m : p.cluster_n) : 1;
  for (std::int64_t band = 0;; band += p.group) {
    const std::int64_t band_end = std::min<std::int64_t>(band + p.group, bands_of);
    for (std::int64_t x = 0; x < length; x += block_along) {
      for (std::int64_t y = band; y < band_end; y += block_across) {
        for (std::int64_t along = x; along < std::min(x + block_along, length); ++along) {
          for (std::int64_t across = y; across < std::min(y + block_across, band_end); ++across) {
            if (index-- == 0) return p.along_n ? TileAt{along, across} : TileAt{across, along};
          }
        }
      }
    }
  }
}

// Clusters are dealt to eight GPCs in turn; those of a GPC take tiles that follow each other.
inline std::int64_t dealt_of(std::int64_t index, std::int64_t count) {
  std::int64_t place = 0;
  for (std::int64_t gpc = 0; gpc < 8; ++gpc) {
    for (std::int64_t i = gpc; i < count; i += 8, ++place) {
      if (i == index) return place;
    }
  }
  return -1;
}

struct Duty {
  struct Piece {
    std::int64_t entry = 0;
    TileAt tile;
    std::int64_t cut = 0, cuts = 1;  // which slice of its K, of how many
    friend bool operator==(const Piece&, const Piece&) = default;
  };
  std::vector<Piece> pieces;
  std::int64_t slice = 0;
  std::vector<std::int64_t> k;  // tiles (blocks) of K
};

inline Duty duty_of(const Placement& p, std::int64_t m, std::int64_t n, std::int64_t k,
                    std::int64_t batch, const std::array<unsigned, 3>& grid,
                    const std::array<unsigned, 3>& block) {
  const auto up = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
  Duty duty;
  const std::int64_t rows = up(up(m, p.tile_m), p.cluster_m);
  const std::int64_t columns = up(up(n, p.tile_n), p.cluster_n);
  if (p.hopper) {
    const std::int64_t cluster = p.cluster(), rank = block[0] % cluster;
    const std::int64_t clusters = grid[0] / cluster, at = block[0] / cluster;
    const std::int64_t first = cluster > 1 ? dealt_of(at, clusters) : at;
    const std::int64_t step = p.persistent ? clusters : rows * columns * batch;
    duty.slice = p.split == 1 ? 0 : p.split_in_cluster ? rank : block[1];
    const bool shares = p.cluster_m * p.cluster_n > 1;
    const std::int64_t all = rows * columns * batch, left = all % clusters;
    const std::int64_t cuts =
        p.stream ? cuda_family::stream_cuts(all, clusters, up(k, p.tile_k)) : 1;
    const std::int64_t whole = cuts > 1 ? all - left : all;
    for (std::int64_t i = first; i < whole + (cuts > 1 ? left * cuts : 0); i += step) {
      const std::int64_t which = i < whole ? i : whole + (i - whole) % left;
      TileAt tile = raster_of(p, which % (rows * columns), rows, columns);
      tile.m = tile.m * p.cluster_m + (shares ? rank % p.cluster_m : 0);
      tile.n = tile.n * p.cluster_n + (shares ? rank / p.cluster_m : 0);
      Duty::Piece piece{which / (rows * columns), tile};
      if (i >= whole) piece.cut = (i - whole) / left, piece.cuts = cuts;
      duty.pieces.push_back(piece);
    }
  } else {
    duty.slice = block[2] % p.split;
    duty.pieces.push_back({block[2] / p.split, raster_of(p, block[0], rows, columns)});
  }
  const std::int64_t tiles = up(k, p.tile_k);
  if (p.direct) {
    for (std::int64_t warp = 0; warp < p.warps_k; ++warp) {
      for (std::int64_t i = duty.slice * p.warps_k + warp; i < tiles; i += p.split * p.warps_k) {
        duty.k.push_back(i);
      }
    }
  } else {
    const std::int64_t share = up(tiles, p.split);
    for (std::int64_t i = duty.slice * share; i < std::min((duty.slice + 1) * share, tiles); ++i) {
      duty.k.push_back(i);
    }
  }
  return duty;
}

}  // namespace tilewright
