// SPDX-License-Identifier: Apache-2.0
// A batch of matrices as they lie in an arena: rows apart by a stride, with gaps that belong to the
// guards. The checker keeps its own copies packed (no gaps, batches one after another) and moves
// data between the two forms here.
#pragma once

#include "base/element.h"
#include "execute/arena.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tilewright {

struct Strided {
  std::byte* data = nullptr;
  ElementType type = ElementType::f16;
  std::int64_t rows = 0, cols = 0, batches = 1;
  std::int64_t stride = 0, batch_stride = 0;  // elements

  [[nodiscard]] std::byte* row(std::int64_t batch, std::int64_t r) const {
    return data + (batch * batch_stride + r * stride) * static_cast<std::int64_t>(size_of(type));
  }
  [[nodiscard]] std::int64_t row_bytes() const {
    return cols * static_cast<std::int64_t>(size_of(type));
  }
  [[nodiscard]] std::int64_t packed_bytes() const { return batches * rows * row_bytes(); }
};

// The matrices of an operand set as stored (A and B in their storage shape, not transposed).
[[nodiscard]] Strided view_a(const Arena& arena, int set);
[[nodiscard]] Strided view_b(const Arena& arena, int set);
[[nodiscard]] Strided view_c(const Arena& arena, int set, Owner owner = Owner::candidate);
// The same for packed storage of ours.
[[nodiscard]] Strided packed_a(const Problem& problem, std::span<std::byte> bytes);
[[nodiscard]] Strided packed_b(const Problem& problem, std::span<std::byte> bytes);
[[nodiscard]] Strided packed_c(const Problem& problem, std::span<std::byte> bytes);

// Copies packed bytes into the rows, the rows into packed bytes, or compares them bit for bit.
void put(const Strided& to, std::span<const std::byte> packed);
[[nodiscard]] std::vector<std::byte> get(const Strided& from);
[[nodiscard]] bool same(const Strided& matrix, std::span<const std::byte> packed);
// Every element becomes NaN, with the given sign: no pattern is likelier to be noticed.
void fill_nan(const Strided& matrix, bool negative = false);

// Widens `count` consecutive elements, exactly, at memory speed.
void widen(ElementType type, const std::byte* from, std::int64_t count, float* to);
// Whole matrices of one batch entry, packed.
[[nodiscard]] std::vector<float> widen(const Strided& matrix, std::int64_t batch);
// The double nearest in `type`: one rounding, as a correct kernel makes it.
[[nodiscard]] double rounded(ElementType type, double value);

}  // namespace tilewright
