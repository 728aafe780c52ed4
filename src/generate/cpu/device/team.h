// SPDX-License-Identifier: Apache-2.0
// How one call is divided: sizes and scalars of the call, the share of each thread, and the calls
// that multiply nothing (alpha == 0 or K == 0).
//
// A share depends only on (sizes, plan, thread, threads), so results do not depend on timing, and
// threads only meet when they split k. Read next: tile.h.
#ifndef TILEWRIGHT_GENERATE_CPU_DEVICE_TEAM_H
#define TILEWRIGHT_GENERATE_CPU_DEVICE_TEAM_H

#include "generate/cpu/device/activation.h"
#include "launch/cpu_abi.h"

namespace tw::cpu {
namespace {  // NOLINT(google-build-namespaces): see types.h

struct Range {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};

// The index-th of `parts` nearly equal runs of [0, total), cut at multiples of step.
inline Range part_of(int64_t total, int64_t step, int64_t parts, int64_t index) {
  const int64_t steps = cdiv(total, step);
  return {min(total, steps * index / parts * step), min(total, steps * (index + 1) / parts * step)};
}

// The sizes of the call. Sizes fixed at generation are constants here, whatever the caller passes.
struct Dims {
  int64_t m, n, k;
};
template <class G>
Dims dims_of(const tw_cpu_gemm_args& args) {
  return {G::kFixed.m == kRuntime ? args.m : G::kFixed.m,
          G::kFixed.n == kRuntime ? args.n : G::kFixed.n,
          G::kFixed.k == kRuntime ? args.k : G::kFixed.k};
}

// What one thread computes: a box of the iteration space of some batch entries.
struct Share {
  Range batch, m, n, k;
};

// Rows of the thread grid for Split::kMN: the divisor of `threads` with the smallest largest box.
inline int64_t grid_rows(int64_t m_tiles, int64_t n_tiles, int64_t threads) {
  int64_t best = 1, best_box = -1;
  for (int64_t rows = 1; rows <= threads; ++rows) {
    if (threads % rows != 0) continue;
    const int64_t box = cdiv(m_tiles, rows) * cdiv(n_tiles, threads / rows);
    if (best_box < 0 || box < best_box) {
      best = rows;
      best_box = box;
    }
  }
  return best;
}

// Cuts fall on register tiles (mr, nr) and on whole chunks of k, so no thread shares a tile.
inline Share share_of(Split split, const Dims& d, int64_t batch, int64_t mr, int64_t nr,
                      int64_t k_step, const tw_cpu_team& team) {
  Share s = {{0, batch}, {0, d.m}, {0, d.n}, {0, d.k}};
  const int64_t parts = team.threads, index = team.thread;
  switch (split) {
    case Split::kBatch:
      s.batch = part_of(batch, 1, parts, index);
      break;
    case Split::kM:
      s.m = part_of(d.m, mr, parts, index);
      break;
    case Split::kN:
      s.n = part_of(d.n, nr, parts, index);
      break;
    case Split::kK:
      s.k = part_of(d.k, k_step, parts, index);
      break;
    case Split::kMN: {
      const int64_t rows = grid_rows(cdiv(d.m, mr), cdiv(d.n, nr), parts);
      const int64_t columns = parts / rows;
      s.m = part_of(d.m, mr, rows, index / columns);
      s.n = part_of(d.n, nr, columns, index % columns);
      break;
    }
  }
  return s;
}

// alpha == 0 or K == 0: C = activation(beta * C + bias), and A, B are not read; beta == 0 does not
// read C.
inline bool multiplies_nothing(const tw_cpu_gemm_args& args, const Dims& d) {
  return d.k == 0 || args.alpha == 0.0f || d.m == 0 || d.n == 0;
}
template <class I, class Out>
[[gnu::noinline]] void scale_only(const tw_cpu_gemm_args& args, const Dims& d,
                                  const tw_cpu_team& team) {
  const Range rows = part_of(args.batch * d.m, 1, team.threads, team.thread);
  const auto* bias = static_cast<const Out*>(args.bias);
  for (int64_t r = rows.begin; r < rows.end; ++r) {
    Out* c = static_cast<Out*>(args.c) + r / d.m * args.stride_c + r % d.m * args.ldc;
    for (int64_t j = 0; j < d.n; j += I::kWidth) {
      typename I::Reg x = I::zero();
      if (args.beta != 0.0f) x = I::multiply(I::fill(args.beta), I::load_wide_n(c + j, d.n - j));
      if (bias != nullptr) x = I::add(x, I::load_wide_n(bias + j, d.n - j));
      I::store_narrow_n(c + j, activated<I>(x, args.activation), d.n - j);
    }
  }
}

}  // namespace
}  // namespace tw::cpu

#endif  // TILEWRIGHT_GENERATE_CPU_DEVICE_TEAM_H
