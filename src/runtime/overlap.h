// SPDX-License-Identifier: Apache-2.0
// Whether two matrices in memory share a byte: exact, in time that hardly depends on their sizes.
//
// Operands of a product are often columns of one larger matrix, whose rows interleave and yet share
// nothing. So comparing where they begin and end is no answer but for the usual case, in which even
// those are apart.
#pragma once

#include <cstdint>

namespace tilewright::runtime {

// batch x rows intervals of `width` bytes, `row_stride` and `batch_stride` bytes apart. All bytes
// together span less than 2^63; strides are not negative. No interval at all: shares nothing.
struct Footprint {
  std::uint64_t address = 0;
  std::int64_t width = 0;
  std::int64_t rows = 1, row_stride = 0;
  std::int64_t batch = 1, batch_stride = 0;

  [[nodiscard]] bool empty() const { return width == 0 || rows == 0 || batch == 0; }
  // Bytes from the first to past the last.
  [[nodiscard]] std::int64_t span() const {
    return empty() ? 0 : (batch - 1) * batch_stride + (rows - 1) * row_stride + width;
  }
};

// Strides so entangled that the exact answer would take too long are taken for an overlap.
[[nodiscard]] bool overlap(const Footprint& a, const Footprint& b);

// Whether two different batch entries share a byte. Rows of one entry must not.
[[nodiscard]] bool entries_overlap(const Footprint& a);

}  // namespace tilewright::runtime
