// SPDX-License-Identifier: Apache-2.0
// Invented wisdom for tests: small by hand, and large and varied from random numbers.
#pragma once

#include "base/hash.h"
#include "base/rng.h"
#include "record/made_trials.h"
#include "record/wisdom.h"

#include <fmt/format.h>

#include <map>
#include <string>
#include <utility>

namespace tilewright {

inline WisdomEntry made_entry(int size, double time_us, const std::string& mode = "offline") {
  return {.problem = fmt::format("gemm {0}x{0}x{0} f16 acc=f32 nn", size),
          .program = "cpu isa=avx2 form=blocked kc=64",
          .mode = mode,
          .time_us = time_us,
          .reference = "onednn",
          .ratio = 1.18,
          .date = "2026-11-29"};
}

inline Wisdom some_wisdom(Rng& rng) {
  Wisdom wisdom;
  wisdom.device = made_device();
  wisdom.device.name = fmt::format("Odd \"name\" | {}\n\u00b5", rng.below(100));
  wisdom.device.cores = 1 + static_cast<int>(rng.below(200));
  std::map<std::pair<std::string, std::string>, WisdomEntry> entries;
  static constexpr const char* kModes[] = {"offline", "hot", "cold", "server"};
  static constexpr const char* kTypes[] = {"f16", "bf16"};
  static constexpr const char* kLayouts[] = {"nn", "nt", "tn", "tt"};
  for (auto count = rng.below(20); count > 0; --count) {
    WisdomEntry entry;
    entry.problem = fmt::format("gemm {}x{}x{} {} acc=f32 {}", 1 + rng.below(9), 1 + rng.below(99),
                                1 + rng.below(9999), kTypes[rng.below(2)], kLayouts[rng.below(4)]);
    entry.program = fmt::format("cpu isa=avx512 kc={}", 1 + rng.below(1000));
    for (auto keys = rng.below(5); keys > 0; --keys) {
      entry.program += fmt::format(" k{}=v-{}", keys, rng.below(100));
    }
    entry.mode = kModes[rng.below(4)];
    entry.time_us = (rng.uniform() + 1e-9) * (rng.below(2) == 0 ? 1e-6 : 1e9);
    if (rng.below(4) != 0) {
      entry.reference = rng.below(2) == 0 ? "onednn" : "openblas_sbgemm";
      entry.ratio = 0.001 + 3 * rng.uniform();
    }
    entry.date =
        fmt::format("{:04}-{:02}-{:02}", 1 + rng.below(9999), 1 + rng.below(12), 1 + rng.below(28));
    entries[{entry.problem, entry.mode}] = entry;
  }
  for (auto& [key, entry] : entries) wisdom.entries.push_back(std::move(entry));
  return wisdom;
}

// Lines with the hash that belongs to them, so that what they say is looked at.
inline std::string sealed(const std::string& lines) {
  return lines + "hash " + hash128(lines) + "\n";
}

}  // namespace tilewright
