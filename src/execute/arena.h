// SPDX-License-Identifier: Apache-2.0
// Operands in memory that the parent made and checks, shared with the runner.
//
// An arena holds `sets` operand sets of one problem. Every matrix lies between guard bands; the
// guards and the row gaps (ld > columns) carry a known pattern. The candidate and the baselines
// write to different C matrices, so that nobody gets credit for another's result.
#pragma once

#include "base/error.h"
#include "launch/cpu_abi.h"
#include "problem/problem.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace tilewright {

inline constexpr std::int64_t kGuardBytes = 256;  // each side of each matrix, at least

// Byte offsets into the arena; plain data, sent to the runner as JSON.
struct ArenaLayout {
  std::int64_t bytes = 0;
  int sets = 0;
  std::int64_t set_stride = 0;                       // from one set to the next
  std::int64_t a = 0, b = 0, c = 0, c_baseline = 0;  // first element of each matrix in set 0
  std::int64_t workspace = 0, workspace_bytes = 0;   // one workspace, guarded, shared by all sets
};

enum class Owner { candidate, baseline };  // whose C

class Arena {
 public:
  [[nodiscard]] static Result<Arena> create(const Problem& problem, int sets,
                                            std::int64_t workspace_bytes);
  ~Arena();
  Arena(Arena&&) noexcept;
  Arena& operator=(Arena&&) noexcept;

  [[nodiscard]] const Problem& problem() const;
  [[nodiscard]] const ArenaLayout& layout() const;
  [[nodiscard]] int fd() const;  // a memfd
  [[nodiscard]] std::byte* base() const;

  // The storage of a matrix, first element to last, row gaps and batch included. Rows are the
  // problem's strides apart, batch b begins b * rows * stride elements after the first.
  [[nodiscard]] std::span<std::byte> a(int set) const;
  [[nodiscard]] std::span<std::byte> b(int set) const;
  [[nodiscard]] std::span<std::byte> c(int set, Owner owner = Owner::candidate) const;
  [[nodiscard]] std::span<std::byte> workspace() const;

  // Hands out only the first `bytes` of the workspace, with a guard right behind them: a candidate
  // gets what its launch asks for and no more. Memory that was never handed out is never touched,
  // so an arena may reserve generously. At most layout().workspace_bytes.
  void use_workspace(std::int64_t bytes);

  // Paints all guard bands and row gaps of A, B, C.
  void paint_guards() const;
  // Where a guard or a gap of `set` was changed ("C, 2 bytes past the end"), or nothing.
  [[nodiscard]] std::optional<std::string> broken_guard(int set) const;
  // Overwrites the workspace with a pattern that depends on `salt`.
  void scrub_workspace(std::uint32_t salt) const;

 private:
  struct State;
  explicit Arena(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// The arguments of a call on operand set `set`, for memory mapped at `base`.
[[nodiscard]] tw_cpu_gemm_args arguments(const Problem& problem, const ArenaLayout& layout,
                                         std::byte* base, int set, Owner owner, float alpha,
                                         float beta);

}  // namespace tilewright
