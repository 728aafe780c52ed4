// SPDX-License-Identifier: Apache-2.0
// The operations besides gemm: their names, their texts and what makes one valid.
//
//   transpose 1024x512 f16             C (512 x 1024) = A (1024 x 512) transposed
//   softmax 1024x512 f16               each row: exp(a - max) / sum
//   layernorm 1024x512 f16             each row: (a - mean) / sqrt(variance + 1e-5), then times row
//                                      0 of B plus row 1 of B (2 x 512)
//   reduce 1024x512 f16 fn=sum         each row to one number: sum, max
//   map 1024x512 f16 fn=gelu           each number: relu, gelu (with the error function), silu
//   conv2d 8x56x56x64 3x3x128 f16 stride=2 pad=1
//                                      input: images x height x width x channels; filters: height x
//                                      width x how many. M, N, K are those of the product that it
//                                      amounts to
//
// Any of them may say out=, lda= and ldc=, conv2d and layernorm ldb= as well. They accumulate in
// f32 and overwrite C. docs/general-ops.md has the rest.
#pragma once

#include "problem/problem.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tilewright {

struct Operation {
  Op op;
  std::string_view name;
  std::span<const Function> functions;  // the first is the default; empty: it has none
  double flop;                          // counted for an element of A; gemm and conv2d: 0
  std::string_view example;
};

[[nodiscard]] std::span<const Operation> operations();
[[nodiscard]] const Operation& operation_of(Op op);
[[nodiscard]] const Operation* find_operation(std::string_view name);
[[nodiscard]] std::string_view name_of(Function function);

// What is added to a variance.
inline constexpr double kLayernormEpsilon = 1e-5;

// Whether each result is one of the inputs (or 0), so that there is nothing to round but that.
[[nodiscard]] bool only_moves(const Problem& problem);

// The text after the name of the operation, without leading dimensions and out, which all share.
[[nodiscard]] std::string operation_sizes(const Problem& problem);
[[nodiscard]] std::string operation_words(const Problem& problem);

// What may be wrong with one word, as words.h says it.
struct OperationError {
  std::string what, suggestion;
};
// Words of sizes that follow the name: 1, of a conv2d 2.
[[nodiscard]] std::size_t size_words(Op op);
// Sizes from the `index`-th such word.
[[nodiscard]] std::optional<OperationError> read_operation_sizes(Problem& problem,
                                                                 std::size_t index,
                                                                 std::string_view word);
// fn, stride, pad; an error also where the operation has no such word.
[[nodiscard]] std::optional<OperationError> read_operation_word(Problem& problem,
                                                                std::string_view key,
                                                                std::string_view value);
// The keys that the operation knows besides its element type.
[[nodiscard]] std::span<const std::string_view> operation_keys(Op op);
// m, n and k of a conv2d from its own sizes.
void set_product_sizes(Problem& problem);

// What check() asks of an operation besides what it asks of all problems; empty: nothing is wrong.
[[nodiscard]] std::string operation_fault(const Problem& problem);

}  // namespace tilewright
