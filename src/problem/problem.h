// SPDX-License-Identifier: Apache-2.0
// A Problem: what is to be computed, and nothing about how.
//
//   gemm 4096x4096x4096 f16 acc=f32 nn
//   gemm 128x1536x1024 bf16 acc=f32 nt out=f32 batch=4 lda=1040 alpha=any beta=one
//
// D = alpha * op(A) * op(B) + beta * C with D written over C. Storage is row-major; the layout's
// first letter is A's, the second B's: `n` stores A as M x K (B as K x N), `t` stores A as K x M
// (B as N x K). So `nn` is torch.matmul(a, b), `nt` is a torch Linear (weight N x K). What cuBLAS
// and the CUDA-L2 paper call TN, seen column-major, is `nt` here.
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

  // Rows and columns of the stored matrices, and the row stride in use.
  [[nodiscard]] std::int64_t a_rows() const { return a_transposed ? k : m; }
  [[nodiscard]] std::int64_t a_cols() const { return a_transposed ? m : k; }
  [[nodiscard]] std::int64_t b_rows() const { return b_transposed ? n : k; }
  [[nodiscard]] std::int64_t b_cols() const { return b_transposed ? k : n; }
  [[nodiscard]] std::int64_t a_stride() const { return lda ? lda : a_cols(); }
  [[nodiscard]] std::int64_t b_stride() const { return ldb ? ldb : b_cols(); }
  [[nodiscard]] std::int64_t c_stride() const { return ldc ? ldc : n; }
  // Multiply-adds count two. Bytes: A, B and C once each.
  [[nodiscard]] double flop() const;
  [[nodiscard]] double bytes() const;
  [[nodiscard]] std::string layout() const;  // "nn", "nt", "tn", "tt"

  friend bool operator==(const Problem&, const Problem&) = default;
};

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
