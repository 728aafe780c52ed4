// SPDX-License-Identifier: Apache-2.0
// One checked call of tw_gemm: what the caller's description means, with every stride spelled out.
//
// Pure values and rules, no device. Everything that a caller can get wrong is said here, before a
// backend sees the call: sizes, strides, types, missing and overlapping operands.
#pragma once

#include "base/element.h"
#include "base/error.h"
#include "problem/problem.h"

#include <tilewright/tilewright.h>

#include <cstdint>
#include <string>

namespace tilewright::runtime {

// An Error together with the status that the C function returns.
struct Failure {
  tw_status status = TW_FAILED;
  std::string message;
};

struct Call {
  ElementType in = ElementType::f16, out = ElementType::f16;
  bool a_transposed = false, b_transposed = false;
  bool f16_sums = false;
  tw_activation activation = TW_NO_ACTIVATION;
  tw_mode mode = TW_FASTEST;
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  // Elements; 0 for A and B: the same row, or the same entry, again. A stride that nothing follows
  // (of a single row, but in TW_BATCH_INVARIANT; of a single entry) is the packed one, so that
  // equal calls compare equal.
  std::int64_t lda = 0, ldb = 0, ldc = 0;
  std::int64_t stride_a = 0, stride_b = 0, stride_c = 0;

  [[nodiscard]] std::int64_t a_rows() const { return a_transposed ? k : m; }
  [[nodiscard]] std::int64_t a_columns() const { return a_transposed ? m : k; }
  [[nodiscard]] std::int64_t b_rows() const { return b_transposed ? n : k; }
  [[nodiscard]] std::int64_t b_columns() const { return b_transposed ? k : n; }
  // No element of C.
  [[nodiscard]] bool empty() const { return m == 0 || n == 0 || batch == 0; }
  // Whether a call with this alpha reads A and B, one with this beta C.
  [[nodiscard]] bool reads_inputs(float alpha) const { return alpha != 0 && k != 0; }
  [[nodiscard]] static bool reads_c(float beta) { return beta != 0; }

  friend bool operator==(const Call&, const Call&) = default;
};

// The scalars and operands of one call.
struct Operands {
  float alpha = 1, beta = 0;
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;
  const void* bias = nullptr;
};

// The description, checked. A failure names the field and its value; TW_INVALID, or TW_ALIASED
// where batch entries of C share elements. All offsets in bytes stay below 2^62.
[[nodiscard]] tl::expected<Call, Failure> checked(const tw_gemm_desc* desc);

// The operands of a call: missing ones and unaligned ones (TW_INVALID), overlap (TW_ALIASED). What
// alpha, beta and k say is not read may be null.
[[nodiscard]] tl::expected<void, Failure> check_operands(const Call& call,
                                                         const Operands& operands);

// The tuned problem that this call is an instance of: alpha and beta classes by their values,
// packed strides as 0. Strides of 0 and an epilogue have no word in a Problem; they are left out.
[[nodiscard]] Problem problem_of(const Call& call, float alpha, float beta);

}  // namespace tilewright::runtime
