// SPDX-License-Identifier: Apache-2.0
// How a call is divided: among threads, by batch entries and boxes of C, and each thread's box into
// slabs, so that a workspace is bounded whatever the sizes are.
//
// A kernel of one thread computes each slab. Cuts fall on register tiles. Neither the cuts nor the
// number of threads changes a bit of the result: a sum runs over the same k in the same order.
// (Kernels that split k are the exception: the whole team computes each slab.)
#pragma once

#include "runtime/backend.h"
#include "runtime/cpu/kernel.h"

#include <cstddef>
#include <cstdint>

namespace tilewright::runtime::cpu {

// batch * rows * columns parts, at most one a thread.
struct Grid {
  int batch = 1, rows = 1, columns = 1;
  [[nodiscard]] int parts() const { return batch * rows * columns; }
  friend bool operator==(const Grid&, const Grid&) = default;
};

// A box of C in some batch entries.
struct Part {
  std::int64_t batch_begin = 0, batch_end = 0, m_begin = 0, m_end = 0, n_begin = 0, n_end = 0;
  [[nodiscard]] bool empty() const {
    return batch_begin >= batch_end || m_begin >= m_end || n_begin >= n_end;
  }
};

// Threads that repay being woken, at most `most`.
[[nodiscard]] int useful_threads(const Call& call, int most);
// The grid whose largest part is the smallest, of at most `threads` parts.
[[nodiscard]] Grid divide(const Call& call, const CpuKernel& kernel, int threads);
[[nodiscard]] Part part_of(const Call& call, const CpuKernel& kernel, const Grid& grid, int index);

struct Plan {
  Call call;
  const CpuKernel* kernel = nullptr;
  Origin origin = Origin::built_in;
  int threads = 1;
  Grid grid;  // for `threads`; unused by a kernel that splits k
  // Bytes for each thread of the team (in all, if the kernel splits k), and for one thread alone.
  std::size_t thread_workspace = 0, alone_workspace = 0;
  [[nodiscard]] std::size_t workspace() const;
};

// Sets grid and workspaces for `plan.threads`. TW_OUT_OF_MEMORY if no 64-bit number says how much.
[[nodiscard]] tl::expected<void, Failure> lay_out(Plan& plan);

// One thread's work. `team`: for kernels that split k, who wait for each other in it.
void compute(const Plan& plan, const Operands& operands, const Part& part, std::byte* workspace,
             const tw_cpu_team& team);

}  // namespace tilewright::runtime::cpu
