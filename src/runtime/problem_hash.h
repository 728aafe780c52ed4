// SPDX-License-Identifier: Apache-2.0
// A hash of problems for tables in memory; it is never written anywhere.
#pragma once

#include "problem/problem.h"

#include <cstddef>
#include <cstdint>

namespace tilewright::runtime {

struct ProblemHash {
  std::size_t operator()(const Problem& p) const {
    const auto bits = [](auto value) { return static_cast<std::uint64_t>(value); };
    std::uint64_t hash = bits(p.in) | bits(p.out) << 2 | bits(p.acc) << 4 |
                         bits(p.a_transposed) << 5 | bits(p.b_transposed) << 6 |
                         bits(p.alpha) << 7 | bits(p.beta) << 8;
    for (const std::int64_t part : {p.m, p.n, p.k, p.batch, p.lda, p.ldb, p.ldc}) {
      hash = (hash ^ bits(part)) * 0x9e3779b97f4a7c15U;
      hash ^= hash >> 29;
    }
    return static_cast<std::size_t>(hash);
  }
};

}  // namespace tilewright::runtime
