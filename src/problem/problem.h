// SPDX-License-Identifier: Apache-2.0
// A Problem: what is to be computed, and nothing about how.
//
//   gemm 4096x4096x4096 f16 acc=f32 nn
//   gemm 128x1536x1024 bf16 acc=f32 nt out=f32 batch=4 lda=1040 alpha=any beta=one
//
// or one of the other operations (operations.h), whose texts begin with their name:
//
//   softmax 1024x512 f16
//   conv2d 1x56x56x64 3x3x128 bf16 pad=1
//
// A gemm is D = alpha * op(A) * op(B) + beta * C with D written over C. Storage is row-major; the
// layout's first letter is A's, the second B's: `n` stores A as M x K (B as K x N), `t` stores A as
// K x M (B as N x K). So `nn` is torch.matmul(a, b), `nt` is a torch Linear (weight N x K). What
// cuBLAS and the CUDA-L2 paper call TN, seen column-major, is `nt` here.
#pragma once

#include "base/element.h"
#include "base/error.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace tilewright {

enum class Accumulator { f32, f16 };      // f16 only when asked for by name
enum class AlphaClass { one, any };       // any: a run-time number, including 0
enum class BetaClass { zero, one, any };  // zero: C is never read

enum class Op { gemm, transpose, softmax, layernorm, reduce, map, conv2d };
enum class Function { none, sum, max, relu, gelu, silu };  // of reduce, of map; else none

// The sizes of a conv2d that m, n and k do not say. Input rows are pixels with their channels
// (NHWC), B holds a row for each place of the filter and channel, a column for each filter.
struct Convolution {
  std::int64_t images = 0, height = 0, width = 0, channels = 0;
  std::int64_t filter_height = 0, filter_width = 0;
  std::int64_t stride = 1, pad = 0;  // in both directions
  [[nodiscard]] std::int64_t out_height() const {
    return (height + 2 * pad - filter_height) / stride + 1;
  }
  [[nodiscard]] std::int64_t out_width() const {
    return (width + 2 * pad - filter_width) / stride + 1;
  }
  friend bool operator==(const Convolution&, const Convolution&) = default;
};

struct Problem {
  std::int64_t m = 0, n = 0, k = 0;
  ElementType in = ElementType::f16;
  ElementType out = ElementType::f16;  // prints only when it differs from `in`
  Accumulator acc = Accumulator::f32;
  bool a_transposed = false, b_transposed = false;
  std::int64_t batch = 1;
  std::int64_t lda = 0, ldb = 0, ldc = 0;  // row strides in elements; 0 means packed
  AlphaClass alpha = AlphaClass::one;
  BetaClass beta = BetaClass::zero;
  // What is done with A (and B); all but gemm and conv2d have k = 1.
  Op op = Op::gemm;
  Function function = Function::none;
  Convolution conv = {};

  [[nodiscard]] bool is_gemm() const { return op == Op::gemm; }
  // Rows and columns of the stored matrices, and the row stride in use. An operand that an
  // operation does not have is 0 x 0.
  [[nodiscard]] std::int64_t a_rows() const {
    return is_gemm() ? (a_transposed ? k : m) : in_rows();
  }
  [[nodiscard]] std::int64_t a_cols() const {
    return is_gemm() ? (a_transposed ? m : k) : in_cols();
  }
  [[nodiscard]] std::int64_t b_rows() const {
    if (op == Op::layernorm) return 2;  // scale, shift
    if (!is_gemm() && op != Op::conv2d) return 0;
    return b_transposed ? n : k;
  }
  [[nodiscard]] std::int64_t b_cols() const {
    if (!is_gemm() && b_rows() == 0) return 0;
    return b_transposed ? k : n;
  }
  [[nodiscard]] std::int64_t c_rows() const { return op == Op::transpose ? n : m; }
  [[nodiscard]] std::int64_t c_cols() const {
    return op == Op::transpose ? m : op == Op::reduce ? 1 : n;
  }
  [[nodiscard]] std::int64_t a_stride() const { return lda ? lda : a_cols(); }
  [[nodiscard]] std::int64_t b_stride() const { return ldb ? ldb : b_cols(); }
  [[nodiscard]] std::int64_t c_stride() const { return ldc ? ldc : c_cols(); }
  // Multiply-adds count two. Bytes: A, B and C once each.
  [[nodiscard]] double flop() const;
  [[nodiscard]] double bytes() const;
  [[nodiscard]] std::string layout() const;  // "nn", "nt", "tn", "tt"

  friend bool operator==(const Problem&, const Problem&) = default;

 private:
  [[nodiscard]] std::int64_t in_rows() const {
    return op == Op::conv2d ? conv.images * conv.height * conv.width : m;
  }
  [[nodiscard]] std::int64_t in_cols() const { return op == Op::conv2d ? conv.channels : n; }
};

// The same product the other way round, C^T = B^T A^T of what is stored: A and B, M and N change
// places. What it says of C (ldc) is still of C as it is stored.
[[nodiscard]] Problem swapped(const Problem& problem);

// The one-line text; parse_problem(to_text(p)) == p for every valid p.
[[nodiscard]] std::string to_text(const Problem& problem);
// Accepts the text above with or without the leading word, `MxNxK` alone, and CUDA-L2's
// `M_N_K`; words after the sizes in any order. An error points at the column and shows a correct
// example.
[[nodiscard]] Result<Problem> parse_problem(std::string_view text);
// Sizes >= 0 and below 2^40, row strides at least the columns, sizes whose products fit 62 bits.
// Names the argument and both values.
[[nodiscard]] Status check(const Problem& problem);

}  // namespace tilewright
