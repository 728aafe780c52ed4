// SPDX-License-Identifier: Apache-2.0
// Operations that treat each row by itself: map, reduce, softmax and layernorm.
//
// A row is read one register at a time, `unroll` of them per turn with a sum (or maximum) of their
// own each, so that one does not wait for the other. All arithmetic is f32; results are rounded
// once. Threads divide the rows. Next: activation.h, whose exponential softmax uses.
#ifndef TILEWRIGHT_GENERATE_CPU_DEVICE_ROWS_H
#define TILEWRIGHT_GENERATE_CPU_DEVICE_ROWS_H

#include "generate/cpu/device/team.h"

namespace tw::cpu {
namespace {  // NOLINT(google-build-namespaces): see types.h

enum class RowOp { kSum, kMax, kRelu, kGelu, kSilu, kSoftmax, kLayernorm };

struct RowPlan {
  RowOp op = RowOp::kSum;
  bool keep = false;   // rows are kept widened in the workspace between passes
  bool joint = false;  // softmax: maximum and sum in one pass
  int unroll = 4;      // registers per turn
  int prefetch = 0;    // bytes ahead, in the first pass
};

template <class In, class Out, Sizes kSizes = Sizes{}>
struct RowProblem {
  using Input = In;
  using Output = Out;
  static constexpr Sizes kFixed = kSizes;
};

constexpr float kLowest = -0x1.fffffep127f;
constexpr float kLayernormEpsilon = 1e-5f;

// Workspace bytes of one thread.
constexpr int64_t row_space(const RowPlan& p, int64_t n) {
  return p.keep ? roundup(n, 64) * 4 : 0;
}

// body.operator()<whole>(slot, at, left): the registers of a row of n, the last of them perhaps not
// whole, dealt out to kUnroll slots.
template <class I, int kUnroll, class Body>
[[gnu::always_inline]] inline void each_register(int64_t n, Body body) {
  int64_t at = 0;
  for (; at + kUnroll * I::kWidth <= n; at += kUnroll * I::kWidth) {
#pragma GCC unroll 8
    for (int u = 0; u < kUnroll; ++u) {
      body.template operator()<true>(u, at + u * I::kWidth, int64_t{I::kWidth});
    }
  }
  for (; at + I::kWidth <= n; at += I::kWidth) {
    body.template operator()<true>(0, at, int64_t{I::kWidth});
  }
  if (at < n) body.template operator()<false>(0, at, n - at);
}

// The first `left` lanes from memory, the others `rest`.
template <class I, bool kWhole, class T>
[[gnu::always_inline]] inline typename I::Reg load_row(const T* from, int64_t left, float rest) {
  if constexpr (kWhole) {
    return I::load_wide(from);
  } else {
    alignas(64) float lane[I::kWidth];
    for (int64_t i = 0; i < I::kWidth; ++i) lane[i] = i < left ? widen(from[i]) : rest;
    return I::load(lane);
  }
}
template <class I, bool kWhole, class T>
[[gnu::always_inline]] inline void store_row(T* to, typename I::Reg x, int64_t left) {
  if constexpr (kWhole) {
    I::store_narrow(to, x);
  } else {
    I::store_narrow_n(to, x, left);
  }
}

template <class I>
[[gnu::always_inline]] inline typename I::Reg larger(typename I::Reg x, typename I::Reg y) {
  return x < y ? y : x;
}
template <class I>
inline float largest(typename I::Reg x) {
  alignas(64) float lane[I::kWidth];
  I::store(lane, x);
  float most = lane[0];
  for (int i = 1; i < I::kWidth; ++i) most = lane[i] > most ? lane[i] : most;
  return most;
}

// exp(x - most), x at most `most`. Nothing of f32 is left at -128.
template <class I>
[[gnu::always_inline]] inline typename I::Reg exp_below(typename I::Reg x, typename I::Reg most) {
  using Reg = typename I::Reg;
  const Reg y = most - x, limit = I::fill(128.0f);
  const Scaled<I> e = exp_of_minus<I>(y > limit ? limit : y, I::zero());
  return e.fraction * e.first * e.second;
}

template <class I, class P, RowPlan kPlan>
struct Rows {
  using T = typename P::Input;
  using Out = typename P::Output;
  using Reg = typename I::Reg;
  static constexpr int kUnroll = kPlan.unroll;

  const tw_cpu_gemm_args& args;
  int64_t n;
  float* kept;  // a row, if the plan keeps one

  static void ahead(const T* from) {
    if constexpr (kPlan.prefetch != 0)
      I::prefetch(reinterpret_cast<const char*>(from) + kPlan.prefetch);
  }
  static void fill(Reg (&slots)[kUnroll], float with) {
#pragma GCC unroll 8
    for (int u = 0; u < kUnroll; ++u) slots[u] = I::fill(with);
  }
  static Reg sum_of(const Reg (&slots)[kUnroll]) {
    Reg all = slots[0];
#pragma GCC unroll 8
    for (int u = 1; u < kUnroll; ++u) all = I::add(all, slots[u]);
    return all;
  }
  static Reg largest_of(const Reg (&slots)[kUnroll]) {
    Reg all = slots[0];
#pragma GCC unroll 8
    for (int u = 1; u < kUnroll; ++u) all = larger<I>(all, slots[u]);
    return all;
  }

  void map(const T* x, Out* y) const {
    each_register<I, kUnroll>(n, [&]<bool kWhole>(int, int64_t at, int64_t left) {
      if constexpr (kWhole) ahead(x + at);
      Reg v = load_row<I, kWhole>(x + at, left, 0);
      if constexpr (kPlan.op == RowOp::kRelu) v = v < I::zero() ? I::zero() : v;
      if constexpr (kPlan.op == RowOp::kGelu) v = gelu<I>(v);
      if constexpr (kPlan.op == RowOp::kSilu) v = silu<I>(v);
      store_row<I, kWhole>(y + at, v, left);
    });
  }

  float sum(const T* x) const {
    Reg sums[kUnroll];
    fill(sums, 0);
    each_register<I, kUnroll>(n, [&]<bool kWhole>(int u, int64_t at, int64_t left) {
      if constexpr (kWhole) ahead(x + at);
      const Reg v = load_row<I, kWhole>(x + at, left, 0);
      if constexpr (kPlan.keep) I::store(kept + at, v);
      sums[u] = I::add(sums[u], v);
    });
    return I::sum(sum_of(sums));
  }

  float maximum(const T* x) const {
    Reg most[kUnroll];
    fill(most, kLowest);
    each_register<I, kUnroll>(n, [&]<bool kWhole>(int u, int64_t at, int64_t left) {
      if constexpr (kWhole) ahead(x + at);
      most[u] = larger<I>(most[u], load_row<I, kWhole>(x + at, left, kLowest));
    });
    return largest<I>(largest_of(most));
  }

  // Sum of exp(x - most); the exponentials are kept if the plan says so.
  float exponentials(const T* x, Reg most) const {
    Reg sums[kUnroll];
    fill(sums, 0);
    each_register<I, kUnroll>(n, [&]<bool kWhole>(int u, int64_t at, int64_t left) {
      const Reg e = exp_below<I>(load_row<I, kWhole>(x + at, left, kLowest), most);
      if constexpr (kPlan.keep) I::store(kept + at, e);
      sums[u] = I::add(sums[u], e);
    });
    return I::sum(sum_of(sums));
  }

  // Both at once: each lane has a maximum so far and a sum of exponentials beside it, which is
  // rescaled when `unroll` registers more have been seen.
  float maximum_and_sum(const T* x, float* inverse) const {
    Reg most = I::fill(kLowest), sum = I::zero();
    const auto take = [&]<int kCount>(const Reg* v) {
      Reg now = most;
#pragma GCC unroll 8
      for (int u = 0; u < kCount; ++u) now = larger<I>(now, v[u]);
      sum = I::multiply(sum, exp_below<I>(most, now));
#pragma GCC unroll 8
      for (int u = 0; u < kCount; ++u) sum = I::add(sum, exp_below<I>(v[u], now));
      most = now;
    };
    Reg v[kUnroll];
    int64_t at = 0;
    for (; at + kUnroll * I::kWidth <= n; at += kUnroll * I::kWidth) {
#pragma GCC unroll 8
      for (int u = 0; u < kUnroll; ++u) {
        ahead(x + at + u * I::kWidth);
        v[u] = I::load_wide(x + at + u * I::kWidth);
      }
      take.template operator()<kUnroll>(v);
    }
    for (; at < n; at += I::kWidth) {
      v[0] =
          n - at >= I::kWidth ? I::load_wide(x + at) : load_row<I, false>(x + at, n - at, kLowest);
      take.template operator()<1>(v);
    }
    const float whole = largest<I>(most);
    *inverse = 1.0f / I::sum(I::multiply(sum, exp_below<I>(most, I::fill(whole))));
    return whole;
  }

  void softmax(const T* x, Out* y) const {
    float inverse;
    Reg most;
    if constexpr (kPlan.joint) {
      most = I::fill(maximum_and_sum(x, &inverse));
    } else {
      most = I::fill(maximum(x));
      inverse = 1.0f / exponentials(x, most);
    }
    const Reg scale = I::fill(inverse);
    each_register<I, kUnroll>(n, [&]<bool kWhole>(int, int64_t at, int64_t left) {
      Reg e;
      if constexpr (kPlan.keep) {
        e = I::load(kept + at);
      } else {
        e = exp_below<I>(load_row<I, kWhole>(x + at, left, kLowest), most);
      }
      store_row<I, kWhole>(y + at, I::multiply(e, scale), left);
    });
  }

  template <bool kWhole>
  [[gnu::always_inline]] Reg again(const T* x, int64_t at, int64_t left, float rest) const {
    if constexpr (kPlan.keep && kWhole) return I::load(kept + at);
    return load_row<I, kWhole>(x + at, left, rest);
  }

  void layernorm(const T* x, Out* y) const {
    const float mean = sum(x) / static_cast<float>(n);
    const Reg middle = I::fill(mean);
    Reg squares[kUnroll];
    fill(squares, 0);
    each_register<I, kUnroll>(n, [&]<bool kWhole>(int u, int64_t at, int64_t left) {
      const Reg d = again<kWhole>(x, at, left, mean) - middle;
      squares[u] = I::fma(d, d, squares[u]);
    });
    const float variance = I::sum(sum_of(squares)) / static_cast<float>(n);
    const Reg inverse = I::fill(1.0f / __builtin_sqrtf(variance + kLayernormEpsilon));
    const T* scale = static_cast<const T*>(args.b);
    const T* shift = scale + args.ldb;
    each_register<I, kUnroll>(n, [&]<bool kWhole>(int, int64_t at, int64_t left) {
      const Reg d = again<kWhole>(x, at, left, mean) - middle;
      const Reg factor = load_row<I, kWhole>(scale + at, left, 0);
      const Reg more = load_row<I, kWhole>(shift + at, left, 0);
      store_row<I, kWhole>(y + at, I::fma(I::multiply(d, inverse), factor, more), left);
    });
  }

  void row(const T* x, Out* y) const {
    if constexpr (kPlan.op == RowOp::kSoftmax) {
      softmax(x, y);
    } else if constexpr (kPlan.op == RowOp::kLayernorm) {
      layernorm(x, y);
    } else if constexpr (kPlan.op == RowOp::kSum) {
      narrow(y, sum(x));
    } else if constexpr (kPlan.op == RowOp::kMax) {
      narrow(y, maximum(x));
    } else {
      map(x, y);
    }
  }
};

template <class I, class P, RowPlan kPlan>
void rows(const tw_cpu_gemm_args& args, const tw_cpu_team& team) {
  const int64_t m = P::kFixed.m == kRuntime ? args.m : P::kFixed.m;
  const int64_t n = P::kFixed.n == kRuntime ? args.n : P::kFixed.n;
  float* kept = static_cast<float*>(args.workspace);
  if constexpr (kPlan.keep) kept += team.thread * row_space(kPlan, n) / 4;
  const Rows<I, P, kPlan> work = {args, n, kept};
  const Range mine = part_of(m, 1, team.threads, team.thread);
  for (int64_t r = mine.begin; r < mine.end; ++r) {
    work.row(static_cast<const typename P::Input*>(args.a) + r * args.lda,
             static_cast<typename P::Output*>(args.c) + r * args.ldc);
  }
}

}  // namespace
}  // namespace tw::cpu

#endif  // TILEWRIGHT_GENERATE_CPU_DEVICE_ROWS_H
