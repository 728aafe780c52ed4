// SPDX-License-Identifier: Apache-2.0
// An algorithm of cublasLt as the knobs that it is made of, and the algorithms one turn away.
//
// neighbours() is pure: it works on what the library says an algorithm can do (AlgoCapabilities),
// which a test can invent. The library refuses many combinations; check() of lt_matmul.h tells.
#pragma once

#include "vendor/cublas_api.h"
#include "vendor/gemm.h"

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::vendor {

struct AlgoConfig {
  std::int32_t id = 0;
  std::uint32_t tile = 0, stages = 0;
  std::int32_t split_k = 1;
  std::uint32_t reduction = kReductionNone, swizzling = 0, custom = 0;
  std::uint16_t inner = 0, cluster = 0;
  friend auto operator<=>(const AlgoConfig&, const AlgoConfig&) = default;
};

struct AlgoCapabilities {
  std::vector<std::uint32_t> tiles, stages;
  bool split_k = false, swizzling = false;
  std::uint32_t reductions = kReductionNone;  // mask
  std::int32_t custom_max = 0;
};

// The knobs that a search turns, in the order in which it turns them: by how much they tend to
// matter.
enum class Knob { tile, stages, cluster, split_k, swizzling, inner, custom };
inline constexpr std::array kKnobs = {Knob::tile,      Knob::stages, Knob::cluster, Knob::split_k,
                                      Knob::swizzling, Knob::inner,  Knob::custom};

// Configurations that differ from `from` in one knob, nearest first. `reductions` is the mask that
// the problem allows: a split K without a permitted scheme is no neighbour.
[[nodiscard]] std::vector<AlgoConfig> neighbours(const AlgoConfig& from, Knob knob,
                                                 const AlgoCapabilities& can,
                                                 std::uint32_t reductions);
// "algo=66 tile=128x256 stages=35 cluster=2x1 splitk=1 reduction=0 swizzle=0 inner=0 custom=0".
[[nodiscard]] std::string to_text(const AlgoConfig& config);
// The same back; what follows a '(' is a remark. An Error names the word that is wrong or missing.
[[nodiscard]] Result<AlgoConfig> parse_algo_config(std::string_view text);

[[nodiscard]] Result<AlgoConfig> read_config(const CublasLt& library, const LtAlgo& algo);
[[nodiscard]] Result<AlgoCapabilities> read_capabilities(const CublasLt& library,
                                                         const LtAlgo& algo);
// Algorithm `id` with its knobs as the library presets them.
[[nodiscard]] Result<LtAlgo> plain_algo(const CublasLt& library, LtHandle handle,
                                        const ColumnGemm& gemm, std::int32_t id);
// `algo`, whose id is config.id, with the knobs of `config`: what else it holds stays. An Error if
// the library does not take a value.
[[nodiscard]] Result<LtAlgo> turned(const CublasLt& library, LtAlgo algo, const AlgoConfig& config);

}  // namespace tilewright::vendor
