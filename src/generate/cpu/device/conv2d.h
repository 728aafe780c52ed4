// SPDX-License-Identifier: Apache-2.0
// A convolution as the product that it amounts to, whose left operand never exists as a whole: row
// r holds, for each place of the filter, the channels of the pixel that it lies on there (zeros
// beyond the edge). B has a row for each place and channel. Sizes are constants.
//
// Rows are gathered a register tile at a time: into a widened panel that serves all columns, or by
// pointers to where the pixels lie. Read first: tile.h.
#ifndef TILEWRIGHT_GENERATE_CPU_DEVICE_CONV2D_H
#define TILEWRIGHT_GENERATE_CPU_DEVICE_CONV2D_H

#include "generate/cpu/device/tile.h"

namespace tw::cpu {
namespace {  // NOLINT(google-build-namespaces): see types.h

struct ConvShape {
  int64_t images, height, width, channels;
  int64_t filter_height, filter_width, filters;
  int64_t stride, pad;
  constexpr int64_t out_height() const { return (height + 2 * pad - filter_height) / stride + 1; }
  constexpr int64_t out_width() const { return (width + 2 * pad - filter_width) / stride + 1; }
  constexpr int64_t m() const { return images * out_height() * out_width(); }
  constexpr int64_t k() const { return filter_height * filter_width * channels; }
};

struct ConvPlan {
  int mr = 8, nr = 32;        // the register tile
  PackA packa = PackA::kF32;  // kF32: rows are gathered and widened first; kNone: at each use
  int unroll = 2;             // steps of k per loop turn
  Split split = Split::kM;    // kM or kN
};

// Workspace of one thread, in bytes.
constexpr int64_t conv_space(const ConvPlan& p, int64_t k) {
  return p.packa == PackA::kF32 ? p.mr * roundup(k, kChunk) * 4 : 0;
}

template <class T, ConvShape kShape>
struct Pixels {
  static inline constexpr T kZeros[kShape.channels] = {};
  const T* a;
  int64_t lda;

  // The channels under place `at` of the filter for row `row` of the product.
  const T* under(int64_t row, int64_t at) const {
    const int64_t y = row / kShape.out_width() % kShape.out_height() * kShape.stride - kShape.pad +
                      at / kShape.filter_width;
    const int64_t x =
        row % kShape.out_width() * kShape.stride - kShape.pad + at % kShape.filter_width;
    if (kShape.pad > 0 && (y < 0 || y >= kShape.height || x < 0 || x >= kShape.width))
      return kZeros;
    const int64_t image = row / (kShape.out_width() * kShape.out_height());
    return a + ((image * kShape.height + y) * kShape.width + x) * lda;
  }
};

// A of a tile as pixels lie; rows past the edge repeat the last one and are never stored.
template <class I, class T, ConvShape kShape, int kMr>
struct GatheredA {
  static constexpr int64_t kRun = kShape.channels;
  const Pixels<T, kShape>* pixels;
  int64_t first, rows, place = 0;
  const T* row[kMr];
  GatheredA(const Pixels<T, kShape>* from, int64_t first_row, int64_t row_count)
      : pixels(from), first(first_row), rows(row_count) {
    look();
  }
  typename I::Reg fill(int i, int64_t k) const { return I::fill_wide(row[i] + k); }
  void next() {
    if (++place < kShape.filter_height * kShape.filter_width) look();
  }
  void look() {
    for (int i = 0; i < kMr; ++i) row[i] = pixels->under(first + min(i, rows - 1), place);
  }
};

template <class I, class T>
void widen_run(const T* from, int64_t count, float* to) {
  int64_t i = 0;
  for (; i + I::kWidth <= count; i += I::kWidth) I::store(to + i, I::load_wide(from + i));
  for (; i < count; ++i) to[i] = widen(from[i]);
}

// The panel of PackedA (tile.h) for rows [first, first + rows).
template <class I, class T, ConvShape kShape, int kMr>
[[gnu::noinline]] void gather(const Pixels<T, kShape>& pixels, int64_t first, int64_t rows,
                              float* panel) {
  for (int i = 0; i < kMr; ++i) {
    const int64_t row = first + min(i, rows - 1);
    int64_t k = 0;
    for (int64_t at = 0; at < kShape.filter_height * kShape.filter_width; ++at) {
      const T* from = pixels.under(row, at);
      for (int64_t left = kShape.channels; left > 0;) {
        const int64_t run = min(left, kChunk - k % kChunk);
        widen_run<I>(from, run, panel + k / kChunk * (kMr * kChunk) + i * kChunk + k % kChunk);
        from += run;
        k += run;
        left -= run;
      }
    }
  }
}

template <class I, class T, class Out, ConvShape kShape, ConvPlan kPlan>
void conv2d(const tw_cpu_gemm_args& args, const tw_cpu_team& team) {
  constexpr int kMr = kPlan.mr, kNr = kPlan.nr;
  constexpr int64_t kM = kShape.m(), kN = kShape.filters, kK = kShape.k();
  Range m = {0, kM}, n = {0, kN};
  if constexpr (kPlan.split == Split::kM) {
    m = part_of(kM, kMr, team.threads, team.thread);
  } else {
    n = part_of(kN, kNr, team.threads, team.thread);
  }
  const Pixels<T, kShape> pixels = {static_cast<const T*>(args.a), args.lda};
  float* panel = static_cast<float*>(args.workspace) + team.thread * conv_space(kPlan, kK) / 4;
  alignas(64) float sums[kMr * kNr];
  for (int64_t row = m.begin; row < m.end; row += kMr) {
    const int64_t rows = min(kMr, m.end - row);
    if constexpr (kPlan.packa == PackA::kF32) gather<I, T, kShape, kMr>(pixels, row, rows, panel);
    for (int64_t column = n.begin; column < n.end; column += kNr) {
      const T* b = static_cast<const T*>(args.b) + column;
      const int64_t columns = min(kNr, n.end - column);
      const auto tile = [&]<bool kEdge>() {
        if constexpr (kPlan.packa == PackA::kF32) {
          outer_tile<I, kMr, kNr, kPlan.unroll, 0, kEdge, false>(
              PackedA<I, kMr, false>{panel}, b, args.ldb, kK, columns, sums, false);
        } else {
          outer_tile<I, kMr, kNr, kPlan.unroll, 0, kEdge, false>(
              GatheredA<I, T, kShape, kMr>(&pixels, row, rows), b, args.ldb, kK, columns, sums,
              false);
        }
      };
      if (kN % kNr == 0 || columns == kNr) {
        tile.template operator()<false>();
      } else {
        tile.template operator()<true>();
      }
      finish<I, T, kNr>(sums, static_cast<Out*>(args.c) + row * args.ldc + column, rows, columns,
                        args, column);
    }
  }
}

}  // namespace
}  // namespace tw::cpu

#endif  // TILEWRIGHT_GENERATE_CPU_DEVICE_CONV2D_H
