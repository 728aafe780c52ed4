// SPDX-License-Identifier: Apache-2.0
// A row-major product as the column-major call that BLAS knows.
//
// A row-major matrix is its transpose seen column-major, so C = op(A) op(B) is asked for as
// C^T = op(B)^T op(A)^T: operands change places, sizes too, and each keeps its own transposition
// letter. No data moves. Pure: tested against a naive interpreter of the call's meaning.
#pragma once

#include "problem/problem.h"
#include "vendor/cublas_api.h"

namespace tilewright::vendor {

// "Left" is what cuBLAS calls A: our B. "Right" is our A.
struct ColumnGemm {
  Operation op_left = kNoTranspose, op_right = kNoTranspose;
  std::int64_t rows = 0, columns = 0, depth = 0;  // cuBLAS' m, n, k: our n, m, k
  std::int64_t ld_left = 0, ld_right = 0, ld_out = 0;
  std::int64_t batch = 1;
  std::int64_t stride_left = 0, stride_right = 0, stride_out = 0;  // between batches, in elements
  DataType in = kReal16F, out = kReal16F;
  ComputeType compute = kCompute32F;
  DataType scale = kReal32F;  // of alpha and beta

  // The stored (not operated on) sizes, column-major: for cublasLt's layouts.
  [[nodiscard]] std::int64_t left_rows() const { return op_left == kNoTranspose ? rows : depth; }
  [[nodiscard]] std::int64_t left_columns() const { return op_left == kNoTranspose ? depth : rows; }
  [[nodiscard]] std::int64_t right_rows() const {
    return op_right == kNoTranspose ? depth : columns;
  }
  [[nodiscard]] std::int64_t right_columns() const {
    return op_right == kNoTranspose ? columns : depth;
  }
  friend bool operator==(const ColumnGemm&, const ColumnGemm&) = default;
};

// Distances between the matrices of a batch, in elements, of our A, B and C.
struct BatchStrides {
  std::int64_t a = 0, b = 0, c = 0;
};
// Matrices one after another, each of rows * row stride elements.
[[nodiscard]] BatchStrides packed_strides(const Problem& problem);

// Why the libraries cannot compute `problem`, or empty: types, accumulator, sizes beyond 32 bits,
// nothing to compute.
[[nodiscard]] std::string why_not(const Problem& problem);

// What to ask of the library. Precondition: why_not() is empty.
[[nodiscard]] ColumnGemm column_gemm(const Problem& problem, const BatchStrides& strides);

// alpha or beta in the type that the call wants to read it in.
class Scale {
 public:
  Scale(DataType type, float value);
  [[nodiscard]] const void* pointer() const { return bytes_; }

 private:
  alignas(4) unsigned char bytes_[4] = {};
};

// With sums in f32, partial sums of a split K must not be kept in the 16-bit output type, and
// C is to be the one rounding of an f32 sum: what is allowed for `problem`.
[[nodiscard]] MathMode math_mode(const Problem& problem);
[[nodiscard]] std::uint32_t allowed_reductions(const Problem& problem);

}  // namespace tilewright::vendor
