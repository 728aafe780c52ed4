// SPDX-License-Identifier: Apache-2.0
// Kernels that compare: C with a reference, weighted sums with each other. Each block leaves one
// tally; the host joins them in order, so that the same comparison gives the same numbers.
#pragma once

#include "verify/cuda/kernels/elements.cuh"

namespace tilewright {

enum : int { kJudges = 256 };  // threads of a block here

__device__ inline void leave(const Tally& mine, Tally* tallies) {
  __shared__ Tally all[kJudges];
  all[threadIdx.x] = mine;
  for (int half = kJudges / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) join(all[threadIdx.x], all[threadIdx.x + half]);
  }
  if (threadIdx.x == 0) tallies[blockIdx.x] = all[0];
}

extern "C" __global__ void __launch_bounds__(kJudges) compare_strip(CompareArguments x) {
  const long long count = x.batches.count * x.rows.count * x.cols.count;
  const bool rounds = x.exact || x.with_norm;
  Tally mine;
  for (long long i = first_item(); i < count; i += item_step()) {
    const long long line = i / x.cols.count;
    const long long col = chosen(x.cols, i % x.cols.count);
    const long long row = chosen(x.rows, line % x.rows.count);
    const long long batch = chosen(x.batches, line / x.rows.count);
    const long long place = (batch * x.c.rows + row) * x.c.cols + col;
    const double got = static_cast<double>(
        value_of(x.c.type, load_bits(x.c.data, x.c.type, index_in(x.c, batch, row, col))));
    const double before =
        x.how.reads ? static_cast<double>(value_of(x.c.type, drawn(x.before, place))) : 0.0;
    const double magnitude = x.magnitude != nullptr ? static_cast<double>(x.magnitude[i]) : 0.0;
    const Expected want = expected(x.terms, x.sum[i], magnitude, x.how, before);
    const double right =
        rounds ? static_cast<double>(value_of(x.c.type, bits_of(x.c.type, want.want))) : 0.0;
    judge(mine, want, got, right, x.exact, x.edge, infinity(), place);
  }
  leave(mine, x.tallies);
}

extern "C" __global__ void __launch_bounds__(kJudges) judge_weighed(JudgeWeighedArguments x) {
  Tally mine;
  for (long long i = first_item(); i < x.count; i += item_step()) {
    const long long from = i % x.groups * x.width;
    WeighedSums s;
    s.product = x.product[i];
    s.size = x.size != nullptr ? static_cast<double>(x.size[i]) : 0.0;
    s.got = x.got[i];
    s.got_size = x.got_size[i];
    if (x.how.reads) {
      s.before = x.before[i];
      s.before_size = x.before_size[i];
    }
    s.width = static_cast<double>(from + x.width < x.n ? x.width : x.n - from);
    const WeighedBound bound = weighed_bound(x.terms, s, x.how, static_cast<double>(x.k), x.exact);
    if (absolute(s.got - bound.want) <= bound.allowed) continue;  // false for NaN and Inf
    join(mine, {1, i, s.got, bound.want, bound.allowed});
  }
  leave(mine, x.tallies);
}

extern "C" __global__ void __launch_bounds__(kJudges) inner_products(InnerArguments x) {
  __shared__ SixSums all[kJudges];
  SixSums mine = {};
  for (long long i = first_item(); i < x.count; i += item_step()) {
    const double g = x.got[i];
    const double p = x.product[i];
    const double b = x.before[i];
    const double products[6] = {g * g, p * p, b * b, g * p, g * b, p * b};
    for (int j = 0; j < 6; ++j) mine.value[j] += products[j];
  }
  all[threadIdx.x] = mine;
  for (int half = kJudges / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x >= half) continue;
    for (int j = 0; j < 6; ++j) all[threadIdx.x].value[j] += all[threadIdx.x + half].value[j];
  }
  if (threadIdx.x == 0) x.sums[blockIdx.x] = all[0];
}

}  // namespace tilewright
