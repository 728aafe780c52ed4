// SPDX-License-Identifier: Apache-2.0
// Which algorithms are one turn of one knob away, and the text that names an algorithm.
#include "vendor/algo_config.h"
#include "vendor/tiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tilewright::vendor {
namespace {

// Algorithms list hundreds of tiles. Farther ones are reached by several turns.
constexpr std::size_t kMostTiles = 16;
constexpr std::uint32_t kMostCustom = 8;  // values on each side
constexpr std::array<std::int32_t, 10> kSplits = {1, 2, 3, 4, 5, 6, 8, 10, 12, 16};
constexpr std::uint16_t kClusterIds = 17;  // ids below are known to tiles.h
constexpr std::uint16_t kInnerIds = 5;     // cublasLtMatmulInnerShape_t

// Distance in octaves: 64 to 128 is as far as 128 to 256.
double distance(const TileSize& a, const TileSize& b) {
  return std::abs(std::log2(double(a.rows) / b.rows)) +
         std::abs(std::log2(double(a.columns) / b.columns));
}

std::vector<std::uint32_t> near_tiles(std::uint32_t from, const AlgoCapabilities& can) {
  const auto centre = tile_size(from);
  struct Ranked {
    double distance;
    std::uint32_t id;
    auto operator<=>(const Ranked&) const = default;
  };
  std::vector<Ranked> ranked;
  for (const std::uint32_t id : can.tiles) {
    if (id == from) continue;
    const auto size = tile_size(id);
    // Unknown sizes are compared by number, behind the known ones.
    const double by_number = 100 + std::abs(double(id) - double(from));
    ranked.push_back({centre && size ? distance(*centre, *size) : by_number, id});
  }
  std::ranges::sort(ranked);
  std::vector<std::uint32_t> ids;
  for (std::size_t i = 0; i < ranked.size() && i < kMostTiles; ++i) ids.push_back(ranked[i].id);
  return ids;
}

// The cheapest scheme that both the algorithm and the problem allow: f32 partial sums first.
std::uint32_t scheme_for(std::int32_t split_k, const AlgoCapabilities& can, std::uint32_t allowed) {
  if (split_k <= 1) return kReductionNone;
  for (const std::uint32_t scheme :
       {kReductionComputeType, kReductionInPlace, kReductionOutputType}) {
    if ((can.reductions & allowed & scheme) != 0) return scheme;
  }
  return kReductionNone;
}

using List = std::vector<AlgoConfig>;
template <class Value>
void vary(List& list, const AlgoConfig& from, Value AlgoConfig::* field, Value value) {
  if (from.*field == value) return;
  list.push_back(from);
  list.back().*field = value;
}

List other_splits(const AlgoConfig& from, const AlgoCapabilities& can, std::uint32_t allowed) {
  List list;
  if (!can.split_k) return list;
  for (const std::int32_t splits : kSplits) {
    const std::uint32_t scheme = scheme_for(splits, can, allowed);
    if (splits == from.split_k || (splits > 1 && scheme == kReductionNone)) continue;
    list.push_back(from);
    list.back().split_k = splits;
    list.back().reduction = scheme;
  }
  const auto octaves = [&](const AlgoConfig& c) {
    return std::abs(std::log2(double(c.split_k) / std::max(1, from.split_k)));
  };
  std::ranges::stable_sort(list, {}, octaves);
  return list;
}

List other_stages(const AlgoConfig& from, const AlgoCapabilities& can) {
  List list;
  for (const std::uint32_t id : can.stages) vary(list, from, &AlgoConfig::stages, id);
  std::ranges::stable_sort(list, {}, [&](const AlgoConfig& c) {
    return c.stages > from.stages ? c.stages - from.stages : from.stages - c.stages;
  });
  return list;
}

List other_customs(const AlgoConfig& from, const AlgoCapabilities& can) {
  List list;
  const auto most = static_cast<std::uint32_t>(std::max(0, can.custom_max));
  for (std::uint32_t step = 1; step <= kMostCustom; ++step) {
    if (from.custom + step <= most) vary(list, from, &AlgoConfig::custom, from.custom + step);
    if (from.custom >= step && from.custom - step <= most) {
      vary(list, from, &AlgoConfig::custom, from.custom - step);
    }
  }
  return list;
}

}  // namespace

std::vector<AlgoConfig> neighbours(const AlgoConfig& from, Knob knob, const AlgoCapabilities& can,
                                   std::uint32_t reductions) {
  List list;
  switch (knob) {
    case Knob::tile:
      for (const std::uint32_t id : near_tiles(from.tile, can)) {
        vary(list, from, &AlgoConfig::tile, id);
      }
      break;
    case Knob::stages:
      return other_stages(from, can);
    case Knob::cluster:
      // The library does not list what an algorithm accepts; the check refuses what it does not.
      for (std::uint16_t id = 0; id < kClusterIds; ++id) {
        if (id != 1) vary(list, from, &AlgoConfig::cluster, id);  // 1 names nothing
      }
      break;
    case Knob::split_k:
      return other_splits(from, can, reductions);
    case Knob::swizzling:
      if (can.swizzling) vary(list, from, &AlgoConfig::swizzling, 1 - std::min(1U, from.swizzling));
      break;
    case Knob::inner:
      for (std::uint16_t id = 0; id < kInnerIds; ++id) vary(list, from, &AlgoConfig::inner, id);
      break;
    case Knob::custom:
      return other_customs(from, can);
  }
  return list;
}

std::string to_text(const AlgoConfig& c) {
  return fmt::format(
      "algo={} tile={} stages={} cluster={} splitk={} reduction={} swizzle={} inner={} custom={}",
      c.id, tile_text(c.tile), c.stages, cluster_text(c.cluster), c.split_k, c.reduction,
      c.swizzling, c.inner, c.custom);
}

}  // namespace tilewright::vendor
