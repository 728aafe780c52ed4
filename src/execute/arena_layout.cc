// SPDX-License-Identifier: Apache-2.0
// Implementation of arena_layout.h.
#include "execute/arena_layout.h"

namespace tilewright {

std::int64_t Piece::bytes() const {
  const std::int64_t count = batch * rows;
  return count == 0 || row_bytes == 0 ? 0 : (count - 1) * stride_bytes + row_bytes;
}

std::int64_t Piece::guard_bytes(const LayoutRules& rules) const {
  return round_up(rules.guard_bytes + (bytes() == 0 ? 0 : stride_bytes), rules.alignment);
}

std::array<Piece, kMatrices> matrices(const Problem& problem, const ArenaLayout& layout) {
  const auto in = static_cast<std::int64_t>(size_of(problem.in));
  const auto out = static_cast<std::int64_t>(size_of(problem.out));
  const auto piece = [&](const char* name, std::int64_t offset, std::int64_t rows,
                         std::int64_t cols, std::int64_t stride, std::int64_t size) {
    return Piece{name, offset, problem.batch, rows, cols * size, stride * size};
  };
  return {piece("A", layout.a, problem.a_rows(), problem.a_cols(), problem.a_stride(), in),
          piece("B", layout.b, problem.b_rows(), problem.b_cols(), problem.b_stride(), in),
          piece("C", layout.c, problem.c_rows(), problem.c_cols(), problem.c_stride(), out),
          piece("the baselines' C", layout.c_baseline, problem.c_rows(), problem.c_cols(),
                problem.c_stride(), out)};
}

Piece workspace_piece(const ArenaLayout& layout, std::int64_t bytes) {
  return Piece{"workspace", layout.workspace, 1, 1, bytes, 0};
}

ArenaLayout lay_out(const Problem& problem, int sets, std::int64_t workspace_bytes,
                    const LayoutRules& rules) {
  ArenaLayout layout;
  layout.sets = sets;
  std::int64_t cursor = 0;
  const auto place = [&cursor, &rules](const Piece& piece) {
    const std::int64_t start = round_up(cursor + piece.guard_bytes(rules), rules.alignment);
    cursor = start + piece.bytes() + piece.guard_bytes(rules);
    return start;
  };
  const auto pieces = matrices(problem, layout);
  layout.a = place(pieces[kA]);
  layout.b = place(pieces[kB]);
  layout.c = place(pieces[kC]);
  layout.c_baseline = place(pieces[kCBaseline]);
  layout.set_stride = round_up(cursor, rules.alignment);
  cursor = layout.set_stride * sets;
  layout.workspace_bytes = workspace_bytes;
  layout.workspace = place(workspace_piece(layout, workspace_bytes));
  layout.bytes = round_up(cursor, rules.page);
  return layout;
}

double estimate_bytes(const Problem& problem, int sets, std::int64_t workspace_bytes) {
  const auto matrix = [&problem](std::int64_t rows, std::int64_t stride, ElementType type) {
    return static_cast<double>(problem.batch) * static_cast<double>(rows) *
           static_cast<double>(stride) * static_cast<double>(size_of(type));
  };
  return sets * (matrix(problem.a_rows(), problem.a_stride(), problem.in) +
                 matrix(problem.b_rows(), problem.b_stride(), problem.in) +
                 2 * matrix(problem.c_rows(), problem.c_stride(), problem.out)) +
         static_cast<double>(workspace_bytes);
}

}  // namespace tilewright
