// SPDX-License-Identifier: Apache-2.0
// See tiles.h.
#include "vendor/tiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

namespace tilewright::vendor {
namespace {

constexpr std::array kFirstTiles = {
    // ids 1 to 35: as history had it
    TileSize{8, 8},     TileSize{8, 16},    TileSize{16, 8},    TileSize{8, 32},
    TileSize{16, 16},   TileSize{32, 8},    TileSize{8, 64},    TileSize{16, 32},
    TileSize{32, 16},   TileSize{64, 8},    TileSize{32, 32},   TileSize{32, 64},
    TileSize{64, 32},   TileSize{32, 128},  TileSize{64, 64},   TileSize{128, 32},
    TileSize{64, 128},  TileSize{128, 64},  TileSize{64, 256},  TileSize{128, 128},
    TileSize{256, 64},  TileSize{64, 512},  TileSize{128, 256}, TileSize{256, 128},
    TileSize{512, 64},  TileSize{64, 96},   TileSize{96, 64},   TileSize{96, 128},
    TileSize{128, 160}, TileSize{160, 128}, TileSize{192, 128}, TileSize{128, 192},
    TileSize{128, 96},  TileSize{32, 256},  TileSize{256, 32},
};
constexpr int kLargestSide = 768;

// Then, without what there was: multiples of 8 by 64 up to 48 K elements, multiples of 64 by 8 up
// to 64 K.
std::vector<TileSize> all_tiles() {
  std::vector<TileSize> tiles(kFirstTiles.begin(), kFirstTiles.end());
  const auto add = [&tiles](TileSize tile) {
    if (std::ranges::find(tiles, tile) == tiles.end()) tiles.push_back(tile);
  };
  for (int rows = 8; rows <= kLargestSide; rows += 8) {
    for (int columns = 64; columns <= kLargestSide && rows * columns <= 48 << 10; columns += 64) {
      add({rows, columns});
    }
  }
  for (int rows = 64; rows <= kLargestSide; rows += 64) {
    for (int columns = 8; columns <= kLargestSide && rows * columns <= 64 << 10; columns += 8) {
      add({rows, columns});
    }
  }
  return tiles;
}

constexpr std::array kClusters = {
    // ids 2 to 16; later ones have sides that are no power of two
    ClusterSize{1, 1}, ClusterSize{2, 1}, ClusterSize{4, 1}, ClusterSize{1, 2},  ClusterSize{2, 2},
    ClusterSize{4, 2}, ClusterSize{1, 4}, ClusterSize{2, 4}, ClusterSize{4, 4},  ClusterSize{8, 1},
    ClusterSize{1, 8}, ClusterSize{8, 2}, ClusterSize{2, 8}, ClusterSize{16, 1}, ClusterSize{1, 16},
};
constexpr std::uint16_t kFirstCluster = 2;

}  // namespace

std::optional<TileSize> tile_size(std::uint32_t id) {
  static const std::vector<TileSize> tiles = all_tiles();
  if (id == 0 || id > tiles.size()) return std::nullopt;
  return tiles[id - 1];
}

std::optional<ClusterSize> cluster_size(std::uint16_t id) {
  if (id < kFirstCluster || id >= kFirstCluster + kClusters.size()) return std::nullopt;
  return kClusters[id - kFirstCluster];
}

std::string tile_text(std::uint32_t id) {
  if (id == 0) return "auto";
  const auto size = tile_size(id);
  return size ? fmt::format("{}x{}", size->rows, size->columns) : fmt::format("#{}", id);
}

std::string cluster_text(std::uint16_t id) {
  if (id == 0) return "auto";
  const auto size = cluster_size(id);
  return size ? fmt::format("{}x{}", size->x, size->y) : fmt::format("#{}", id);
}

}  // namespace tilewright::vendor
