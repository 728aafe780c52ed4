// SPDX-License-Identifier: Apache-2.0
// Exact and nearest wisdom: which tuned entry serves a problem best, and how far it is away.
//
// A pure value. What a program can serve is for the backend to say, through a predicate. Finding
// allocates nothing: one hash lookup, then a walk over the entries of the same class.
#pragma once

#include "problem/problem.h"
#include "record/wisdom.h"
#include "runtime/backend.h"
#include "runtime/problem_hash.h"

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace tilewright::runtime {

// Beyond this many octaves in one size nothing is near.
inline constexpr double kNearOctaves = 2;

// What may decide: `columns` leaves m and batch out of it, as TW_BATCH_INVARIANT wants.
enum class Sizes { all, columns };

class Lookup {
 public:
  Lookup() = default;
  // Of several entries for one problem the first counts; entries of mode `offline` go before
  // others. An entry that cannot be read is left out.
  explicit Lookup(std::vector<WisdomEntry> entries);
  // Hits point into it.
  Lookup(Lookup&&) = default;
  Lookup& operator=(Lookup&&) = default;

  struct Hit {
    std::size_t index = 0;  // into entries()
    Origin origin = Origin::exact;
    // The sum of |log2(ours / theirs)| over m, n, k and batch; over n and k for Sizes::columns.
    double distance = 0;
  };

  [[nodiscard]] const std::vector<WisdomEntry>& entries() const { return entries_; }

  // The best entry of which serves(index) is true: the problem's own, else the nearest of its class
  // (types, layout, alpha and beta), else the nearest of the class that only has alpha = 1 and
  // beta = 0. Between equals the one with the same row strides, then the first.
  template <class Serves>
  [[nodiscard]] std::optional<Hit> find(const Problem& problem, const Serves& serves,
                                        Sizes sizes = Sizes::all) const {
    if (sizes == Sizes::all) {
      for (const std::size_t index : own(problem)) {
        if (serves(index)) return Hit{index, Origin::exact, 0};
      }
    }
    const Place here = place_of(problem);
    for (const auto& entries : classes_for(problem)) {
      std::optional<Hit> best;
      bool best_is_alike = false;
      for (const Near& near : entries) {
        const std::optional<double> distance = distance_of(here, near.place, sizes);
        if (!distance || (best && *distance > best->distance)) continue;
        const bool alike = near.place.strides == here.strides;
        if (best && *distance == best->distance && (best_is_alike || !alike)) continue;
        if (!serves(near.index)) continue;
        best = Hit{near.index, Origin::nearest, *distance};
        best_is_alike = alike;
      }
      if (best) return best;
    }
    return std::nullopt;
  }

 private:
  struct Place {
    std::array<double, 4> octaves{};  // log2 of n, k, m, batch; NaN for a size of 0
    std::array<std::int64_t, 3> strides{};
  };
  struct Near {
    Place place;
    std::size_t index = 0;
  };
  [[nodiscard]] static Place place_of(const Problem& problem);
  // Nothing if they are too far apart in some size.
  [[nodiscard]] static std::optional<double> distance_of(const Place& a, const Place& b,
                                                         Sizes sizes);
  [[nodiscard]] std::span<const std::size_t> own(const Problem& problem) const;
  // Its own class, and the plain one if that is another.
  [[nodiscard]] std::array<std::span<const Near>, 2> classes_for(const Problem& problem) const;

  std::vector<WisdomEntry> entries_;
  std::unordered_map<Problem, std::vector<std::size_t>, ProblemHash> own_;
  std::vector<std::vector<Near>> classes_;  // by class_of()
};

}  // namespace tilewright::runtime
