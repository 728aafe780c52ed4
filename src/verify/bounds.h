// SPDX-License-Identifier: Apache-2.0
// How far a right result may lie from the reference, and whether a result does.
//
//   |C - ref| <= u_out |ref| + 2 (K + e) 2^-24 (|A| |B|) + half a subnormal of the output
//
// Any order of f32 accumulation and one rounding to the output stays inside (docs/verification.md
// has the derivation); `e` counts the operations that alpha and beta add. There is no absolute
// tolerance. A problem that asks for acc=f16 has 2^-11 in place of 2^-24.
#pragma once

#include "verify/both/bound_arithmetic.h"
#include "verify/reference.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace tilewright {

// `k` terms per result; `scaled` if alpha is not 1 or beta not 0.
[[nodiscard]] Terms error_terms(const Problem& problem, std::int64_t k, bool scaled);

// |value| at and above this rounds to Inf: 65520 for f16 (65519.x rounds to 65504).
[[nodiscard]] double overflow_edge(ElementType type);

// Whether `got` is right for a reference value; `ratio` gets |err| / bound. NaN is right only for
// NaN, Inf only for Inf of that sign or where the bound reaches the overflow edge; +0 == -0.
[[nodiscard]] bool within(ElementType out, const Terms& terms, double got, double want,
                          double magnitude, double* ratio);

// What C is compared with: alpha * sum + beta * before, or what `calls` such calls one after
// another make of it.
struct Expectation {
  const Reference* reference = nullptr;
  bool exact = false;  // the correctly rounded value and nothing else
  double alpha = 1, beta = 0;
  std::span<const std::byte> before = {};  // packed C as it was before; needed if beta != 0
  std::int64_t calls = 1;
  double roundings = 1;  // to the output's type that are allowed
};

// C_n = `sum` * (alpha A B) + `kept` * C_0.
struct Repeated {
  double sum = 1, kept = 0;
};
[[nodiscard]] Repeated repeated(double beta, std::int64_t calls);
[[nodiscard]] Accumulation accumulation(double alpha, double beta, std::int64_t calls);

struct Mismatch {
  std::int64_t batch = 0, row = 0, col = 0;
  double got = 0, want = 0, allowed = 0;
  std::int64_t count = 0;  // how many results are off, of those looked at
  [[nodiscard]] std::string text() const;
};

struct Agreement {
  std::optional<Mismatch> first;  // the first that is off, or nothing
  double max_ratio = 0;           // largest |err| / bound (0 or infinity where exact)
  double max_abs_error = 0;
  double norm_ratio = 0;  // normwise error / that of the correctly rounded reference
  std::int64_t results = 0;
};
// `with_norm` also rounds every reference value, which costs as much as the rest.
[[nodiscard]] Agreement compare(const Problem& problem, const Strided& c,
                                const Expectation& expectation, bool with_norm);

// What a comparison is, from the sum of its parts; the place of the first mismatch counts results
// of M x N each.
[[nodiscard]] Agreement conclude(const Problem& problem, const Tally& tally, std::int64_t results,
                                 bool with_norm);

// A norm_ratio above this fails where it applies: f32 accumulation, half output, enough results.
inline constexpr double kNormLimit = 1.1;
inline constexpr std::int64_t kNormResults = 4096;
[[nodiscard]] bool norm_applies(const Problem& problem, std::int64_t results);

}  // namespace tilewright
