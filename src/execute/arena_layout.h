// SPDX-License-Identifier: Apache-2.0
// Where the matrices of an arena lie and how wide their guards are, in host or device memory.
//
// A guard is at least LayoutRules::guard_bytes and one row of its matrix wide, so that the first
// row past the end and the gap of the last row both fall inside it.
#pragma once

#include "execute/arena.h"

#include <array>
#include <cstdint>

namespace tilewright {

struct LayoutRules {
  std::int64_t alignment = 64;             // bytes, of each first element
  std::int64_t guard_bytes = kGuardBytes;  // each side of each matrix, at least
  std::int64_t page = 4096;                // the whole is a multiple
};

[[nodiscard]] constexpr std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// One guarded piece of memory: a matrix of one operand set, or the workspace (one row).
struct Piece {
  const char* name = "";
  std::int64_t offset = 0;  // of the first element, in set 0
  std::int64_t batch = 1, rows = 0;
  std::int64_t row_bytes = 0, stride_bytes = 0;  // what a row holds; from one row to the next
  // First element to last, row gaps and batch included.
  [[nodiscard]] std::int64_t bytes() const;
  [[nodiscard]] std::int64_t guard_bytes(const LayoutRules& rules) const;
};

enum PieceIndex { kA, kB, kC, kCBaseline, kMatrices };
[[nodiscard]] std::array<Piece, kMatrices> matrices(const Problem& problem,
                                                    const ArenaLayout& layout);
// The first `bytes` of the workspace, which is one row with guards of the least width.
[[nodiscard]] Piece workspace_piece(const ArenaLayout& layout, std::int64_t bytes);

[[nodiscard]] ArenaLayout lay_out(const Problem& problem, int sets, std::int64_t workspace_bytes,
                                  const LayoutRules& rules);
// What lay_out() will ask for besides guards, as a double that cannot overflow.
[[nodiscard]] double estimate_bytes(const Problem& problem, int sets, std::int64_t workspace_bytes);

}  // namespace tilewright
