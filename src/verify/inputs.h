// SPDX-License-Identifier: Apache-2.0
// The data that a proof feeds to a kernel: each kind is there to expose one way of being wrong.
//
// A kind is drawn from a seed as a pure function (Philox by position), so the same seed gives the
// same bits whatever the number of threads. Most kinds are independent draws from a table of 65,536
// equally likely values, already rounded to the element type; two have structure (inputs.cc).
//
// split_k. Every product of a row of A with a column of B is a sum of K integers: all but a few are
// +2^e or +2^(e+1) (times a sign of the row and one of the column), one at a random place is
// -2^21, and those positive ones add up to exactly 2^21. So any part of the inner dimension that
// holds some but not all of them sums to at least 2^e per element in magnitude, whichever way K is
// cut: in slices, in strides, for any number of parts (none of them payload alone). With S <= 64
// slices of at least two elements that is at least 4096 (up to K = 2^20). The few others, never two
// neighbours, are a payload of random small integers whose sum is odd, and that sum is the result:
// at most 2 * payload - 1 in magnitude. In f16 numbers above 4096 are multiples of 4, in bf16
// multiples of 32; so partial sums kept in half precision cannot add up to an odd number, while in
// f32 all sums are exact in any order (magnitudes add up to about 2^22). All inputs are powers of
// two or zero, hence exact in f16 and bf16. For K < 2 there is no slice and the kind is refused;
// for K < 128 the guarantee holds for slices of at least two elements, of which there are fewer
// than 64.
#pragma once

#include "base/element.h"
#include "problem/problem.h"
#include "verify/both/drawing.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace tilewright {

enum class DataKind {
  zero_one,    // {0,1}: counts; far above 2048 when K allows (an f16 accumulator stalls there)
  signs,       // {-1,0,1}
  split_k,     // see above
  normal,      // mean 0, variance 1
  uniform,     // [-1, 1)
  cancelling,  // the second half of K takes back the first, but for a thousandth part
  large,       // results up to about a seventh of the largest finite output and past it at 7 sigma
  tiny,        // results about 4e-6: an absolute tolerance would accept zeros
  damped,      // normal, A 2^-7 as large: a C that is accumulated into stays finite
};
inline constexpr std::array<std::string_view, 9> kDataKindNames = {
    "zero_one", "signs", "split_k", "normal", "uniform", "cancelling", "large", "tiny", "damped"};
[[nodiscard]] constexpr std::string_view name_of(DataKind kind) {
  return kDataKindNames[static_cast<std::size_t>(kind)];
}
// Whether every f32 accumulation of this kind is exact, so that the result has one right value.
[[nodiscard]] constexpr bool is_exact(DataKind kind) {
  return kind == DataKind::zero_one || kind == DataKind::signs || kind == DataKind::split_k;
}
// The same of a problem: what only moves numbers is exact on all data, what takes exponentials or
// roots on none.
[[nodiscard]] bool is_exact(DataKind kind, const Problem& problem);
// Whether the kind can test this problem (split_k wants K >= 2 and an f32 accumulator; large and
// cancelling data may leave the range of an f16 accumulator).
[[nodiscard]] bool applies(DataKind kind, const Problem& problem);

// A and B packed in storage order, all batch entries.
struct Operands {
  std::vector<std::byte> a, b;
};
[[nodiscard]] Operands draw(const Problem& problem, DataKind kind, std::uint64_t seed);
// A alone, of an unstructured kind: what refreshing between timed rounds rewrites.
[[nodiscard]] std::vector<std::byte> draw_a(const Problem& problem, DataKind kind,
                                            std::uint64_t seed);
// Numbers that a result could be, packed as C: normal with the variance of `kind`'s results, which
// is normal or damped.
[[nodiscard]] std::vector<std::byte> plausible_c(const Problem& problem, std::uint64_t seed,
                                                 DataKind kind = DataKind::normal);
// Even integers from -16 to 16: added to an exact result, the sum is exact, and odd if that was.
[[nodiscard]] std::vector<std::byte> even_c(const Problem& problem, std::uint64_t seed);

// The same draws as tables, for a device that draws by itself: drawing().form and so on with
// `values` and `ordinals` set to where the tables are there.
enum class Operand : unsigned { a = 1, b = 2, c = 3 };  // the random stream of each
struct Recipe {
  Drawing drawing;  // points into the vectors
  std::vector<unsigned> values;
  std::vector<int> ordinals;
  bool seeded = false;  // the tables depend on the seed, too
};
[[nodiscard]] std::shared_ptr<const Recipe> recipe(const Problem& problem, DataKind kind,
                                                   Operand operand, std::uint64_t seed);
[[nodiscard]] std::shared_ptr<const Recipe> plausible_recipe(const Problem& problem, DataKind kind);
[[nodiscard]] std::shared_ptr<const Recipe> even_recipe(const Problem& problem);

}  // namespace tilewright
