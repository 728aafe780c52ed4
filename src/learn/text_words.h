// SPDX-License-Identifier: Apache-2.0
// How the numbers of a prompt become words: a name, a mark and a bin. text_words.cc lists all of
// them; text.cc writes them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace tilewright {

// `name^k` with k = round(log2(value) / step), from 0 to `bins` - 1; values up to 1 are bin 0.
struct LogBins {
  std::string_view name;
  int bins;
  double step;
};

inline constexpr LogBins kBatchBins{"batch", 14, 1};
inline constexpr LogBins kUnitBins{"units", 24, 0.5};           // cores or multiprocessors
inline constexpr LogBins kNearBins{"near", 14, 1};              // KiB: L1 of a core, shared memory
inline constexpr LogBins kL2Bins{"l2", 20, 1};                  // KiB
inline constexpr LogBins kL3Bins{"l3", 24, 1};                  // KiB
inline constexpr LogBins kBandwidthBins{"bw", 32, 0.5};         // GB/s
inline constexpr LogBins kPeakBins{"peak", 48, 0.5};            // GFLOP/s
inline constexpr LogBins kIntensityBins{"intensity", 28, 0.5};  // FLOP per byte
inline constexpr LogBins kWaveBins{"waves", 24, 0.5};           // tiles to a unit
inline constexpr std::array<LogBins, 9> kAllLogBins = {kBatchBins, kUnitBins,      kNearBins,
                                                       kL2Bins,    kL3Bins,        kBandwidthBins,
                                                       kPeakBins,  kIntensityBins, kWaveBins};

[[nodiscard]] std::string binned(const LogBins& bins, double value);

// A size: its power of two, the eighths beyond it, and the largest power of two that divides it.
inline constexpr int kSizeBins = 25, kDivisorBins = 8;
[[nodiscard]] std::array<std::string, 3> size_words(char axis, std::int64_t size);

}  // namespace tilewright
