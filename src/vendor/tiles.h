// SPDX-License-Identifier: Apache-2.0
// What the ids in a cublasLt algorithm mean: tile and cluster sizes.
//
// The library names 630 tiles by number. A neighbour of a tile is one of similar size, which the
// numbers alone do not tell; so the numbering (cublasLtMatmulTile_t, cublasLtClusterShape_t of
// CUDA 13.0, whose ids are only ever added to) is written down here as the rule it follows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tilewright::vendor {

struct TileSize {
  int rows = 0, columns = 0;  // of the column-major result
  friend bool operator==(const TileSize&, const TileSize&) = default;
};
[[nodiscard]] std::optional<TileSize> tile_size(std::uint32_t id);

struct ClusterSize {
  int x = 1, y = 1;
  friend bool operator==(const ClusterSize&, const ClusterSize&) = default;
};
[[nodiscard]] std::optional<ClusterSize> cluster_size(std::uint16_t id);

// "128x256", or "#812" for an id that is not known; "auto" for 0.
[[nodiscard]] std::string tile_text(std::uint32_t id);
[[nodiscard]] std::string cluster_text(std::uint16_t id);

}  // namespace tilewright::vendor
