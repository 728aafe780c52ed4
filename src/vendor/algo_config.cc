// SPDX-License-Identifier: Apache-2.0
// Reading and writing an algorithm's attributes; algo_neighbours.cc has the pure part.
#include "vendor/algo_config.h"

#include <fmt/format.h>

namespace tilewright::vendor {
namespace {

template <class Value>
Status read_one(const CublasLt& library, const LtAlgo& algo, ConfigAttribute which, Value& value) {
  std::size_t written = 0;
  return check(library.MatmulAlgoConfigGetAttribute(&algo, which, &value, sizeof value, &written),
               fmt::format("reading algorithm attribute {}", static_cast<int>(which)));
}

// What an algorithm already holds is not written: some refuse knobs that they do not have.
template <class Value>
Status write_one(const CublasLt& library, LtAlgo& algo, ConfigAttribute which, Value value) {
  Value held{};
  if (read_one(library, algo, which, held) && held == value) return {};
  return check(library.MatmulAlgoConfigSetAttribute(&algo, which, &value, sizeof value),
               fmt::format("setting algorithm attribute {}", static_cast<int>(which)));
}

template <class Value>
Status read_cap(const CublasLt& library, const LtAlgo& algo, CapAttribute which, Value& value) {
  std::size_t written = 0;
  return check(library.MatmulAlgoCapGetAttribute(&algo, which, &value, sizeof value, &written),
               fmt::format("reading algorithm capability {}", static_cast<int>(which)));
}

// Asked with size 0, the library tells how long the list is.
Result<std::vector<std::uint32_t>> read_list(const CublasLt& library, const LtAlgo& algo,
                                             CapAttribute which) {
  std::size_t bytes = 0;
  const std::string what = fmt::format("reading algorithm capability {}", static_cast<int>(which));
  if (Status s = check(library.MatmulAlgoCapGetAttribute(&algo, which, nullptr, 0, &bytes), what);
      !s) {
    return tl::unexpected(s.error());
  }
  std::vector<std::uint32_t> list(bytes / sizeof(std::uint32_t));
  if (list.empty()) return list;
  if (Status s = check(library.MatmulAlgoCapGetAttribute(
                           &algo, which, list.data(), list.size() * sizeof(std::uint32_t), &bytes),
                       what);
      !s) {
    return tl::unexpected(s.error());
  }
  return list;
}

template <std::size_t kCount>
Status first_failure(const std::array<Status, kCount>& statuses) {
  for (const Status& status : statuses) {
    if (!status) return status;
  }
  return {};
}

}  // namespace

Result<AlgoConfig> read_config(const CublasLt& library, const LtAlgo& algo) {
  AlgoConfig c;
  const std::array statuses = {read_one(library, algo, kConfigId, c.id),
                               read_one(library, algo, kConfigTile, c.tile),
                               read_one(library, algo, kConfigStages, c.stages),
                               read_one(library, algo, kConfigSplitK, c.split_k),
                               read_one(library, algo, kConfigReduction, c.reduction),
                               read_one(library, algo, kConfigSwizzling, c.swizzling),
                               read_one(library, algo, kConfigCustom, c.custom),
                               read_one(library, algo, kConfigInner, c.inner),
                               read_one(library, algo, kConfigCluster, c.cluster)};
  if (Status status = first_failure(statuses); !status) return tl::unexpected(status.error());
  return c;
}

Result<AlgoCapabilities> read_capabilities(const CublasLt& library, const LtAlgo& algo) {
  AlgoCapabilities can;
  std::int32_t split_k = 0;
  std::uint32_t swizzling = 0;
  const std::array statuses = {read_cap(library, algo, kCapSplitK, split_k),
                               read_cap(library, algo, kCapReductions, can.reductions),
                               read_cap(library, algo, kCapSwizzling, swizzling),
                               read_cap(library, algo, kCapCustomMax, can.custom_max)};
  if (Status status = first_failure(statuses); !status) return tl::unexpected(status.error());
  can.split_k = split_k != 0;
  can.swizzling = swizzling != 0;
  auto tiles = read_list(library, algo, kCapTiles);
  if (!tiles) return tl::unexpected(tiles.error());
  auto stages = read_list(library, algo, kCapStages);
  if (!stages) return tl::unexpected(stages.error());
  can.tiles = std::move(*tiles);
  can.stages = std::move(*stages);
  return can;
}

Result<LtAlgo> plain_algo(const CublasLt& library, LtHandle handle, const ColumnGemm& gemm,
                          std::int32_t id) {
  LtAlgo algo;
  if (Status s = check(library.MatmulAlgoInit(handle, gemm.compute, gemm.scale, gemm.in, gemm.in,
                                              gemm.out, gemm.out, id, &algo),
                       fmt::format("making algorithm {}", id));
      !s) {
    return tl::unexpected(s.error());
  }
  return algo;
}

Result<LtAlgo> turned(const CublasLt& library, LtAlgo algo, const AlgoConfig& config) {
  const std::array statuses = {write_one(library, algo, kConfigTile, config.tile),
                               write_one(library, algo, kConfigStages, config.stages),
                               write_one(library, algo, kConfigSplitK, config.split_k),
                               write_one(library, algo, kConfigReduction, config.reduction),
                               write_one(library, algo, kConfigSwizzling, config.swizzling),
                               write_one(library, algo, kConfigCustom, config.custom),
                               write_one(library, algo, kConfigInner, config.inner),
                               write_one(library, algo, kConfigCluster, config.cluster)};
  if (Status status = first_failure(statuses); !status) return tl::unexpected(status.error());
  return algo;
}

}  // namespace tilewright::vendor
