// SPDX-License-Identifier: Apache-2.0
// Integer expressions of a launch description, such as `threads*roundup(M,64)*4`.
//
// Operators + - * with the usual precedence, parentheses, and the functions cdiv(a,b),
// roundup(a,b), min(a,b), max(a,b). Names: M N K batch threads, and for CUDA lda ldb ldc sa sb sc
// sms slots (launch.h). All arithmetic is 64-bit and checked: overflow, a negative result or a
// division by zero is an error, never a wrong number.
#pragma once

#include "base/error.h"
#include "problem/problem.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace tilewright {

struct ExprNames {
  std::int64_t m = 0, n = 0, k = 0, batch = 1, threads = 1;
  std::int64_t lda = 0, ldb = 0, ldc = 0, sa = 0, sb = 0, sc = 0, sms = 1, slots = 1;
};

[[nodiscard]] Result<std::int64_t> evaluate(std::string_view expression, const ExprNames& names);
// Whether it is an expression at all: names, functions and parentheses, for values that are not
// known yet.
[[nodiscard]] Status check_expression(std::string_view expression);

}  // namespace tilewright
