// SPDX-License-Identifier: Apache-2.0
// What the result of an operation other than a gemm should be, in f64, and how far a right f32
// computation may lie from it.
//
// A convolution is a product whose left operand is gathered; once gathered, everything that is said
// of products (reference.h, freivalds.h) holds for it. The others are computed row by row; they are
// so cheap that whole results are compared wherever a product would be weighed.
//
// Magnitudes are what bounds.h multiplies by 2 * 2^-24: the terms of the row-wise bounds with their
// number of operations in them (docs/general-ops.md derives each). Results that only move numbers
// have no error at all.
#pragma once

#include "verify/bounds.h"
#include "verify/inputs.h"
#include "verify/reference.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tilewright {

// A as the left operand of the product that a conv2d is: m x k, zeros where the filter hangs over
// the edge. Any other problem's A as it is, without a copy; `storage` holds the copy.
[[nodiscard]] Strided left_operand(const Problem& problem, const Strided& a,
                                   std::vector<std::byte>& storage);

// Whether the result is computed by rows: not a product.
[[nodiscard]] constexpr bool by_rows(const Problem& problem) {
  return problem.op != Op::gemm && problem.op != Op::conv2d;
}

// Rows and columns of C for sizes m and n.
struct Area {
  std::int64_t rows, cols;
};
[[nodiscard]] Area area_of_c(const Problem& problem, const Extent& extent);

// Rows [begin, end) of C, packed, with magnitudes. Only of operations by rows.
void compute_rows(const Problem& problem, const Strided& a, const Strided& b, const Extent& extent,
                  std::int64_t begin, std::int64_t end, double* want, float* magnitude);

// As reference() for operations by rows: of a large result some rows.
[[nodiscard]] Reference reference_by_rows(const Problem& problem, const Strided& a,
                                          const Strided& b, const Extent& extent,
                                          std::uint64_t seed);
// The whole of C against its operands, without storing a reference.
[[nodiscard]] Agreement compare_by_rows(const Problem& problem, const Strided& a, const Strided& b,
                                        const Strided& c, bool exact, double roundings = 1);

// What Ground::weigh looks at, for a report.
[[nodiscard]] std::string weighed_what(const Problem& problem);

// The error of an operation by rows: 2^-23 times the magnitude, and one rounding.
[[nodiscard]] Terms terms_by_rows(const Problem& problem);

}  // namespace tilewright
