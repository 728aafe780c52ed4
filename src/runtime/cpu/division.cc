// SPDX-License-Identifier: Apache-2.0
// See division.h.
#include "runtime/cpu/division.h"

#include "launch/expr.h"

#include <fmt/format.h>

#include <algorithm>

namespace tilewright::runtime::cpu {
namespace {

// Larger boxes are computed slab by slab: what is packed per slab is then a small part of its work,
// and the f32 tiles of a slab stay below a few MiB.
constexpr std::int64_t kSlabRows = 2048, kSlabColumns = 8192;

// Work of one thread that repays waking another, in multiply-adds times two; a byte that is moved
// counts as kWorkOfByte.
constexpr double kWorkOfThread = 5e5, kWorkOfByte = 8;

constexpr std::int64_t cdiv(std::int64_t x, std::int64_t y) {
  return (x + y - 1) / y;
}

// The index-th of `parts` runs of [0, total), cut at multiples of step.
struct Run {
  std::int64_t begin, end;
};
Run run_of(std::int64_t total, std::int64_t step, int parts, int index) {
  const std::int64_t steps = cdiv(total, step);
  const auto cut = [&](int i) {
    // steps * i would not overflow for sizes that fit memory, but sizes of empty operands may.
    const std::int64_t whole = steps / parts, rest = steps % parts;
    return std::min(total, (whole * i + rest * i / parts) * step);
  };
  return {cut(index), cut(index + 1)};
}

// Slabs are whole tiles.
std::int64_t slab(std::int64_t most, int tile) {
  return most / tile * tile;
}

tl::expected<std::size_t, Failure> bytes_for(const CpuKernel& kernel, const Call& call,
                                             std::int64_t m, std::int64_t n, int threads) {
  ExprNames names;
  names.m = std::min(m, slab(kSlabRows, kernel.mr));
  names.n = std::min(n, slab(kSlabColumns, kernel.nr));
  names.k = call.k;
  names.threads = threads;
  const auto bytes = evaluate(kernel.workspace, names);
  if (bytes) return static_cast<std::size_t>(*bytes);
  return tl::unexpected(Failure{
      TW_OUT_OF_MEMORY, fmt::format("k={} needs more workspace than there can be", call.k)});
}

template <class T>
const void* moved(const void* from, std::int64_t elements) {
  return from == nullptr ? nullptr : static_cast<const T*>(from) + elements;
}

const void* moved(const void* from, std::int64_t elements, std::size_t bytes) {
  return bytes == 4 ? moved<std::uint32_t>(from, elements) : moved<std::uint16_t>(from, elements);
}

}  // namespace

int useful_threads(const Call& call, int most) {
  const auto m = static_cast<double>(call.m), n = static_cast<double>(call.n);
  const auto k = static_cast<double>(call.k), batch = static_cast<double>(call.batch);
  const double bytes = 2 * (m * k + k * n) + static_cast<double>(size_of(call.out)) * m * n;
  const double threads = batch * (2 * m * n * k + kWorkOfByte * bytes) / kWorkOfThread;
  return static_cast<int>(std::clamp(threads, 1.0, static_cast<double>(most)));
}

Grid divide(const Call& call, const CpuKernel& kernel, int threads) {
  const std::int64_t m_tiles = cdiv(call.m, kernel.mr), n_tiles = cdiv(call.n, kernel.nr);
  Grid best;
  double least = -1;
  for (int batch = 1; batch <= std::min<std::int64_t>(threads, call.batch); ++batch) {
    for (int rows = 1; rows <= std::min<std::int64_t>(threads / batch, m_tiles); ++rows) {
      const Grid grid = {batch, rows,
                         static_cast<int>(std::min<std::int64_t>(threads / batch / rows, n_tiles))};
      const auto height = static_cast<double>(cdiv(m_tiles, grid.rows) * kernel.mr);
      const auto width = static_cast<double>(cdiv(n_tiles, grid.columns) * kernel.nr);
      // Rows of A and columns of B are packed or read by each part that needs them: about eight
      // elements a multiplication.
      const double cost = static_cast<double>(cdiv(call.batch, grid.batch)) *
                          (height * width + 8 * (height + width));
      if (least < 0 || cost < least) {
        least = cost;
        best = grid;
      }
    }
  }
  return best;
}

Part part_of(const Call& call, const CpuKernel& kernel, const Grid& grid, int index) {
  const int column = index % grid.columns, row = index / grid.columns % grid.rows;
  const Run batch = run_of(call.batch, 1, grid.batch, index / grid.columns / grid.rows);
  const Run m = run_of(call.m, kernel.mr, grid.rows, row);
  const Run n = run_of(call.n, kernel.nr, grid.columns, column);
  return {batch.begin, batch.end, m.begin, m.end, n.begin, n.end};
}

std::size_t Plan::workspace() const {
  const std::size_t team =
      kernel->splits_k ? thread_workspace : thread_workspace * static_cast<std::size_t>(threads);
  return std::max(team, alone_workspace);
}

tl::expected<void, Failure> lay_out(Plan& plan) {
  const Call& call = plan.call;
  const CpuKernel& kernel = *plan.kernel;
  if (!kernel.splits_k) {
    plan.grid = divide(call, kernel, plan.threads);
    plan.threads = plan.grid.parts();
  }
  const auto alone = bytes_for(kernel, call, call.m, call.n, 1);
  if (!alone) return tl::unexpected(alone.error());
  plan.alone_workspace = *alone;
  tl::expected<std::size_t, Failure> each = *alone;
  if (kernel.splits_k) {
    each = bytes_for(kernel, call, call.m, call.n, plan.threads);
  } else if (plan.threads > 1) {
    const std::int64_t rows = cdiv(cdiv(call.m, kernel.mr), plan.grid.rows) * kernel.mr;
    const std::int64_t columns = cdiv(cdiv(call.n, kernel.nr), plan.grid.columns) * kernel.nr;
    each = bytes_for(kernel, call, std::min(rows, call.m), std::min(columns, call.n), 1);
  }
  if (!each) return tl::unexpected(each.error());
  constexpr std::size_t kLine = 64;
  plan.thread_workspace = (*each + kLine - 1) / kLine * kLine;
  return {};
}

void compute(const Plan& plan, const Operands& operands, const Part& part, std::byte* workspace,
             const tw_cpu_team& team) {
  if (part.empty()) return;
  const Call& call = plan.call;
  const CpuKernel& kernel = *plan.kernel;
  const std::int64_t rows = slab(kSlabRows, kernel.mr), columns = slab(kSlabColumns, kernel.nr);
  const std::size_t in = size_of(call.in), out = size_of(call.out);
  tw_cpu_gemm_args args{};
  args.k = call.k;
  args.lda = call.lda;
  args.ldb = call.ldb;
  args.ldc = call.ldc;
  args.batch = part.batch_end - part.batch_begin;
  args.stride_a = call.stride_a;
  args.stride_b = call.stride_b;
  args.stride_c = call.stride_c;
  args.alpha = operands.alpha;
  args.beta = operands.beta;
  args.workspace = workspace;
  args.activation = call.activation;
  for (std::int64_t n0 = part.n_begin; n0 < part.n_end; n0 += columns) {
    for (std::int64_t m0 = part.m_begin; m0 < part.m_end; m0 += rows) {
      // A team adds up its partial sums in the workspace that the next slab takes.
      if (team.threads > 1 && (m0 != part.m_begin || n0 != part.n_begin)) team.barrier(team.state);
      const std::int64_t b = part.batch_begin;
      args.m = std::min(rows, part.m_end - m0);
      args.n = std::min(columns, part.n_end - n0);
      args.a = moved(operands.a, b * call.stride_a + m0 * (call.a_transposed ? 1 : call.lda), in);
      args.b = moved(operands.b, b * call.stride_b + n0 * (call.b_transposed ? call.ldb : 1), in);
      args.c = const_cast<void*>(moved(operands.c, b * call.stride_c + m0 * call.ldc + n0, out));
      args.bias = moved(operands.bias, n0, out);
      kernel.run(&args, &team);
    }
  }
}

}  // namespace tilewright::runtime::cpu
