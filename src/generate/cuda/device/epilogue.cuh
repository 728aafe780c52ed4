// SPDX-License-Identifier: Apache-2.0
// From accumulators to C. Both families hold a result as fragments: per lane l = 4 g + t a grid of
// kRows x kColumns pieces of 4 numbers, (row g, columns 2t and 2t+1) and (row g + 8, the same), the
// pieces kRowStep rows and 8 columns apart.
//
// A pair per store fills half of a 32-byte sector. With lanes of a quad exchanging pairs each lane
// holds 8 (or 4) columns in a row instead, and stores fill whole sectors without shared memory.
// Where rows are not aligned a lane cannot store a run, and all lanes trade (store_loose).
#pragma once

#include "generate/cuda/device/activation.cuh"

namespace tw {

// Where and how results are written. kOut: element type. kScaled: D = alpha acc + beta C, else D =
// acc; kServed: bias and activation are added to that (activation.cuh). kVector: elements by which
// ldc and the base are divisible, at most 8.
template <Type kOut, bool kScaled, int kVector, bool kServed = false>
struct Output {
  void* c;
  i64 ldc;
  int m, n;
  float alpha, beta;
  Served<kServed> served = {};
  bool streams = false;  // more than the L2 keeps: copies leave it first (the copy engine's only)
};

template <Type kOut>
__device__ __forceinline__ float read_number(const void* base, i64 at) {
  if constexpr (kOut == Type::f32) return static_cast<const float*>(base)[at];
  return widen<kOut>(static_cast<const u16*>(base)[at]);
}

// One number. beta = 0 never reads C (BLAS).
template <Type kOut, bool kScaled, int kVector, bool kServed>
__device__ __forceinline__ float scaled(const Output<kOut, kScaled, kVector, kServed>& out,
                                        float value, i64 at) {
  if constexpr (!kScaled) return value;
  float result = out.alpha * value;
  if (out.beta != 0.0F) result += out.beta * read_number<kOut>(out.c, at);
  return result;
}

// kCount neighbouring numbers of one row; those past column n are not written.
template <int kCount, Type kOut, bool kScaled, int kVector, bool kServed>
__device__ __forceinline__ void store_run(const Output<kOut, kScaled, kVector, kServed>& out,
                                          int row, int column, const float (&values)[kCount]) {
  if (row >= out.m || column >= out.n) return;
  const i64 at = static_cast<i64>(row) * out.ldc + column;
  float v[kCount];
  const int count = min(kCount, out.n - column);
#pragma unroll
  for (int i = 0; i < kCount; ++i) v[i] = i < count ? scaled(out, values[i], at + i) : 0.0F;
  if constexpr (kServed) {
    if (out.served.bias != nullptr) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        if (i < count) v[i] += read_number<kOut>(out.served.bias, column + i);
      }
    }
    activate(v, out.served.activation);
  }
  // The widest store that the alignment of rows allows.
  constexpr int kRun = min_of(min_of(kCount, kVector), 16 / bytes_of(kOut));
  if constexpr (kOut == Type::f32) {
    float* to = static_cast<float*>(out.c) + at;
    if (kRun > 1 && count == kCount) {
      if constexpr (kRun == 4) {
#pragma unroll
        for (int i = 0; i < kCount; i += 4) {
          *reinterpret_cast<float4*>(to + i) = make_float4(v[i], v[i + 1], v[i + 2], v[i + 3]);
        }
      } else if constexpr (kRun == 2) {
#pragma unroll
        for (int i = 0; i < kCount; i += 2) {
          *reinterpret_cast<float2*>(to + i) = make_float2(v[i], v[i + 1]);
        }
      }
      return;
    }
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      if (i < count) to[i] = v[i];
    }
  } else {
    u16* to = static_cast<u16*>(out.c) + at;
    u32 pairs[max_of(kCount / 2, 1)];
#pragma unroll
    for (int i = 0; i + 1 < kCount; i += 2) pairs[i / 2] = pack<kOut>(v[i], v[i + 1]);
    if constexpr (kCount == 1) pairs[0] = pack<kOut>(v[0], 0.0F);
    if (kRun > 1 && count == kCount) {
      if constexpr (kRun == 8) {
#pragma unroll
        for (int i = 0; i < kCount / 2; i += 4) {
          *reinterpret_cast<uint4*>(to + 2 * i) =
              make_uint4(pairs[i], pairs[i + 1], pairs[i + 2], pairs[i + 3]);
        }
      } else if constexpr (kRun == 4) {
#pragma unroll
        for (int i = 0; i < kCount / 2; i += 2) {
          *reinterpret_cast<uint2*>(to + 2 * i) = make_uint2(pairs[i], pairs[i + 1]);
        }
      } else if constexpr (kRun == 2) {
#pragma unroll
        for (int i = 0; i < kCount / 2; ++i) *reinterpret_cast<u32*>(to + 2 * i) = pairs[i];
      }
      return;
    }
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      if (i < count) to[i] = static_cast<u16>(pairs[i / 2] >> (16 * (i % 2)));
    }
  }
}

// Bit kStep of the index into x and bit kLane of the lane change places: of two lanes that differ
// in that bit the lower one gives its upper half and gets the other's lower half.
template <int kStep, int kLane, int kCount>
__device__ __forceinline__ void trade(float (&x)[kCount]) {
  const bool upper = (lane_id() & kLane) != 0;
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    if ((i & kStep) != 0) continue;
    const float give = upper ? x[i] : x[i + kStep];
    const float got = __shfl_xor_sync(0xffffffffU, give, kLane);
    if (upper) {
      x[i] = got;
    } else {
      x[i + kStep] = got;
    }
  }
}

// Lane t of a quad has x[j] of column block j; afterwards x[j] is what lane j had of block t.
template <int kWide>
__device__ __forceinline__ void exchange(float (&x)[kWide]) {
  trade<1, 1>(x);
  if constexpr (kWide == 4) trade<2, 2>(x);
}

// Pieces for rows that no wide store may write to. Runs of a lane would be written number by number
// then, each store of a warp to 8 rows and a few bytes of 16 sectors or more. Here the lanes of
// other rows trade theirs away until neighbouring lanes have neighbouring columns, and a store
// writes 8 kWide columns (32: one row at once) without gaps. kPair: numbers that are stored at
// once. kRuns: lane t has 2 kWide neighbouring columns already, of piece j the numbers j and kWide
// + j. Its rows are kStepG g and kStepG g + kStepHalf.
template <int kWide, bool kRuns = false, int kStepG = 1, int kStepHalf = 8, Type kOut, bool kScaled,
          int kVector, bool kServed>
__device__ __forceinline__ void store_loose(const Output<kOut, kScaled, kVector, kServed>& out,
                                            int row, int column, const float (&pieces)[kWide][4]) {
  enum : int {
    kPair = kVector > 1 ? 2 : 1,
    kTrades = (kWide == 4   ? 2
               : kWide == 2 ? 1
                            : 0) +
              (kPair == 1 ? 1 : 0),
    kRows = 1 << (kTrades + 1),  // of a lane
  };
  float x[kRows * kPair];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
#pragma unroll
    for (int j = 0; j < kWide; ++j) {
      x[half * 2 * kWide + (kRuns ? j : 2 * j)] = pieces[j][2 * half];
      x[half * 2 * kWide + (kRuns ? kWide + j : 2 * j + 1)] = pieces[j][2 * half + 1];
    }
  }
  // Bits of the column in the index (of the pair, of the piece) for bits of the row in the lane.
  if constexpr (kTrades >= 1) trade<kPair, 4>(x);
  if constexpr (kTrades >= 2) trade<2 * kPair, 8>(x);
  if constexpr (kTrades >= 3) trade<4 * kPair, 16>(x);
  const int lane = lane_id();
  const int traded = lane >> 2 & ((1 << kTrades) - 1);
  if constexpr (kRuns) {
    column += 2 * kWide * (lane % 4) + kPair * traded;
  } else if constexpr (kPair == 1) {
    column += 2 * (lane % 4) + 8 * (traded >> 1) + traded % 2;
  } else {
    column += 2 * (lane % 4) + 8 * traded;
  }
  row += (lane >> (2 + kTrades) << kTrades) * kStepG;
  const int count = min(out.n - column, static_cast<int>(kPair));
  if (count <= 0) return;
  const i64 at = static_cast<i64>(row) * out.ldc + column;
  const auto below = [](int i) {  // `row`
    return i % (1 << kTrades) * kStepG + (i >> kTrades) * kStepHalf;
  };
#pragma unroll
  for (int i = 0; i < kRows * kPair; ++i) {
    const int r = below(i / kPair);
    if (row + r < out.m && i % kPair < count)
      x[i] = scaled(out, x[i], at + r * out.ldc + i % kPair);
  }
  if constexpr (kServed) {
    if (out.served.bias != nullptr) {
      float bias[kPair] = {};
#pragma unroll
      for (int e = 0; e < kPair; ++e) {
        if (e < count) bias[e] = read_number<kOut>(out.served.bias, column + e);
      }
#pragma unroll
      for (int i = 0; i < kRows * kPair; ++i) x[i] += bias[i % kPair];
    }
    activate(x, out.served.activation);
  }
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    const int r = below(i);
    if (row + r >= out.m) continue;
    const i64 to = at + r * out.ldc;
    if constexpr (kOut == Type::f32) {
      float* numbers = static_cast<float*>(out.c) + to;
      if constexpr (kPair == 2) {
        if (count == 2) {
          *reinterpret_cast<float2*>(numbers) = make_float2(x[2 * i], x[2 * i + 1]);
          continue;
        }
      }
      *numbers = x[i * kPair];
    } else {
      u16* numbers = static_cast<u16*>(out.c) + to;
      if constexpr (kPair == 2) {
        const u32 pair = pack<kOut>(x[2 * i], x[2 * i + 1]);
        if (count == 2) {
          *reinterpret_cast<u32*>(numbers) = pair;
        } else {
          *numbers = static_cast<u16>(pair);
        }
      } else {
        *numbers = static_cast<u16>(pack<kOut>(x[i], 0.0F));
      }
    }
  }
}

// 8 x 8 numbers, of which lane 4 g + t has row g, columns 2t (x) and 2t + 1 (y): transposed.
__device__ __forceinline__ void transpose(float& x, float& y) {
  const int lane = lane_id();
  const int even = lane % 4 * 8 + lane / 8, odd = even + 4;  // who have rows 2t, 2t + 1
  const bool second = lane / 4 % 2 != 0;                     // of the columns that they have
  const float x0 = __shfl_sync(0xffffffffU, x, even), y0 = __shfl_sync(0xffffffffU, y, even);
  const float x1 = __shfl_sync(0xffffffffU, x, odd), y1 = __shfl_sync(0xffffffffU, y, odd);
  x = second ? y0 : x0;
  y = second ? y1 : x1;
}
// Two neighbouring pieces, 16 x 16 numbers: the same.
__device__ __forceinline__ void transpose(float (&pieces)[2][4]) {
#pragma unroll
  for (int j = 0; j < 2; ++j) {
    transpose(pieces[j][0], pieces[j][1]);
    transpose(pieces[j][2], pieces[j][3]);
  }
#pragma unroll
  for (int e = 0; e < 2; ++e) {
    const float above = pieces[0][2 + e];
    pieces[0][2 + e] = pieces[1][e];
    pieces[1][e] = above;
  }
}

// Stores kWide neighbouring pieces (8 kWide columns) that begin at `row`, `column` of the warp; all
// lanes take part. kWide 1: pairs as they are. 2, 4: exchanged, runs of 4 or 8.
template <int kWide, Type kOut, bool kScaled, int kVector, bool kServed>
__device__ __forceinline__ void store_pieces(const Output<kOut, kScaled, kVector, kServed>& out,
                                             int row, int column, const float (&pieces)[kWide][4]) {
  if constexpr (kVector == 1 || (kVector == 2 && kWide > 1)) {
    store_loose<kWide>(out, row, column, pieces);
    return;
  }
  const int g = lane_id() / 4;
  const int t = lane_id() % 4;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int at_row = row + g + 8 * half;
    if constexpr (kWide == 1) {
      store_run<2>(out, at_row, column + 2 * t, {pieces[0][2 * half], pieces[0][2 * half + 1]});
    } else if constexpr (kWide == 2) {
      // Lanes t and t ^ 1 swap: an even lane ends with 4 columns of piece 0, an odd one of piece 1.
      float low[2] = {pieces[0][2 * half], pieces[1][2 * half]};
      float high[2] = {pieces[0][2 * half + 1], pieces[1][2 * half + 1]};
      exchange<2>(low);
      exchange<2>(high);
      store_run<4>(out, at_row, column + 8 * (t % 2) + 4 * (t / 2),
                   {low[0], high[0], low[1], high[1]});
    } else {
      float low[4], high[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        low[j] = pieces[j][2 * half];
        high[j] = pieces[j][2 * half + 1];
      }
      exchange<4>(low);
      exchange<4>(high);
      store_run<8>(out, at_row, column + 8 * t,
                   {low[0], high[0], low[1], high[1], low[2], high[2], low[3], high[3]});
    }
  }
}

}  // namespace tw
