// SPDX-License-Identifier: Apache-2.0
// A profile in the few words that prompts have for one. What is not known has a word of its own.
#include "learn/text.h"

#include <algorithm>
#include <cmath>

namespace tilewright {
namespace {

// Values that fill a key, by preference: of a GPU, then of a CPU. Each is a share of `full`.
struct Share {
  const char* value;
  double full = 100;
};
constexpr std::array<std::array<Share, 2>, 5> kShares = {{
    {{{"tensor_pct"}, {"fma_pct"}}},
    {{{"dram_pct"}, {"memory_pct"}}},
    {{{"l2_hit_pct"}, {"cache_hit_pct"}}},
    {{{"occupancy_pct"}, {"busy_pct"}}},
    {{{"instructions_per_cycle", 4}, {}}},  // of a CPU; a GPU has the stall class here
}};
constexpr std::size_t kStall = 4, kLimit = 5;

std::optional<int> share(const Profile& profile, const std::array<Share, 2>& shares) {
  for (const Share& one : shares) {
    if (one.value == nullptr) continue;
    const auto found = profile.values.find(one.value);
    if (found == profile.values.end() || !std::isfinite(found->second)) continue;
    return profile_bin(found->second / one.full);
  }
  return std::nullopt;
}

template <std::size_t kCount>
std::optional<int> place(const std::array<std::string_view, kCount>& classes,
                         const std::string& name) {
  static_assert(kCount <= kProfileBins);
  const auto* const found = std::ranges::find(classes, name);
  if (found == classes.end()) return std::nullopt;
  return static_cast<int>(found - classes.begin());
}

}  // namespace

ProfileBins profile_bins(const std::optional<Profile>& profile) {
  ProfileBins bins{};
  if (!profile) return bins;
  for (std::size_t i = 0; i < kShares.size(); ++i) bins[i] = share(*profile, kShares[i]);
  if (!profile->stall.empty()) bins[kStall] = place(kStallClasses, profile->stall);
  bins[kLimit] = place(kLimits, profile->limit);
  return bins;
}

}  // namespace tilewright
