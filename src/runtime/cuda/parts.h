// SPDX-License-Identifier: Apache-2.0
// A large product as several launches: kernels count rows, columns and tiles in 32 bits, and a grid
// is no more than 65,535 high. Offsets in memory have 64 bits everywhere.
#pragma once

#include "runtime/call.h"

#include <cstdint>
#include <vector>

namespace tilewright::runtime {

// What of a kernel limits one launch.
struct Grain {
  std::int64_t tile_m = 64, tile_n = 64;
  std::int64_t split = 1;
  bool batch_in_z =
      true;  // the grid's z is batch * split (sm80); else tiles of all entries are in x
  // Rows and columns, multiples of 8 if below the call's, and entries of a launch.
  std::int64_t most_m = INT64_MAX, most_n = INT64_MAX, most_batch = INT64_MAX;
};

// Which operands a kernel copies to rows of whole 16 bytes before.
struct Copies {
  bool a = false, b = false;
  [[nodiscard]] bool any() const { return a || b; }
};
// `grain` in parts whose copies take at most so many bytes: the batch is cut first, then what is
// longer of rows and columns. Parts that cannot be cut further may take more.
[[nodiscard]] Grain fitting(Grain grain, const Call& call, Copies copies, std::int64_t bytes);

// Rows [m0, m0 + m), columns [n0, n0 + n) and entries [b0, b0 + batch) of the result.
struct Part {
  std::int64_t m0 = 0, n0 = 0, b0 = 0;
  std::int64_t m = 0, n = 0, batch = 0;
  friend bool operator==(const Part&, const Part&) = default;
};

// Most of K in one launch; a sum cannot be split without rounding it twice.
inline constexpr std::int64_t kMostK = (std::int64_t{1} << 31) - 4096;

// They cover the result, each element once. Nearly always there is one. Empty if there would be
// more than 4,096.
[[nodiscard]] std::vector<Part> parts_of(const Call& call, const Grain& grain);
// The product of one part: smaller sizes, the same strides.
[[nodiscard]] Call part_call(const Call& call, const Part& part);

// Where a part begins, in bytes, within A, B, C and the bias.
struct Offsets {
  std::int64_t a = 0, b = 0, c = 0, bias = 0;
};
[[nodiscard]] Offsets offsets_of(const Call& call, const Part& part);

// A batch of rows against one and the same B, one after another: one taller product. Any other call
// is returned as it is.
[[nodiscard]] Call folded(const Call& call);

}  // namespace tilewright::runtime
