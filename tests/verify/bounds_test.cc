// SPDX-License-Identifier: Apache-2.0
// The bound accepts every honest f32 result and little else.
#include "verify/bounds.h"

#include "verify/honest.h"

#include <cmath>
#include <limits>

namespace tilewright {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Edge {
  ElementType out;
  double got, want;
  bool right;
  const char* source;
};

TEST(Bounds, Edges) {
  const Problem p = problem_of("gemm 8x8x1 f16 acc=f32 nn");
  const Edge edges[] = {
      {ElementType::f16, kInf, 65536, true, "N11"},
      {ElementType::f16, -kInf, -65536, true, "N11"},
      {ElementType::f16, 65504, 65536, false, "N11: overflow is Inf, not the largest number"},
      {ElementType::f16, 65504, 65519, true, "N11"},
      {ElementType::f16, kInf, 65519, false, "N11"},
      {ElementType::f16, kInf, 65520, true, "N11"},
      {ElementType::f16, 65504, 65520, false, "N11"},
      {ElementType::f16, kInf, -65536, false, "sign"},
      {ElementType::bf16, kInf, 3.4e38, true, "rounds to Inf"},
      {ElementType::bf16, kInf, 3.38e38, false, "rounds to the largest number"},
      {ElementType::f16, -0.0, 0.0, true, "N15"},
      {ElementType::f16, 0.0, -0.0, true, "N15"},
      {ElementType::f16, kNan, 1, false, "N04"},
      {ElementType::f16, 1, kNan, false, "NaN is expected"},
      {ElementType::f16, kNan, kNan, true, "NaN is expected"},
      {ElementType::f16, kInf, kInf, true, "Inf is expected"},
      {ElementType::f16, 65504, kInf, false, "Inf is expected"},
      {ElementType::f16, 0x1p-24, 0x1p-24, true, "N13"},
      {ElementType::f16, 0, 0x1p-24, false, "N13: a flushed subnormal"},
      {ElementType::f16, 0, 0x1p-25, true, "half a subnormal"},
      {ElementType::f16, 0, 4e-6, false, "B13"},
      {ElementType::f16, 1, 1 + 0x1p-11, true, "half an ulp"},
      {ElementType::f16, 1, 1 + 0x1p-10, false, "an ulp"},
      {ElementType::bf16, 1, 1 + 0x1p-8, true, "half an ulp"},
      {ElementType::bf16, 1, 1 + 0x1p-7, false, "an ulp"},
      {ElementType::f32, 1, 1 + 0x1p-22, false, "an ulp and a half beyond K = 1"},
  };
  for (const Edge& edge : edges) {
    Problem q = p;
    q.out = edge.out;
    double ratio = 0;
    EXPECT_EQ(within(edge.out, error_terms(q, 1, false), edge.got, edge.want, 0, &ratio),
              edge.right)
        << name_of(edge.out) << " " << edge.got << " for " << edge.want << ": " << edge.source;
    EXPECT_EQ(ratio <= 1, edge.right);
  }
}

// Any order of f32 summation, fused or not, any K, any scale: thousands of problems, all accepted.
TEST(Bounds, HonestResultsAlwaysPass) {
  Rng rng(20261129);
  std::int64_t results = 0;
  double closest = 0;
  for (int round = 0; round < 1600; ++round) {
    Problem p;
    p.m = 1 + static_cast<std::int64_t>(rng.below(6));
    p.n = 1 + static_cast<std::int64_t>(rng.below(6));
    const std::int64_t depths[] = {1, 2, 3, 17, 31, 64, 127, 400, 1500};
    p.k = depths[rng.below(9)];
    p.in = rng.below(2) ? ElementType::f16 : ElementType::bf16;
    p.out = static_cast<ElementType>(rng.below(3));
    p.a_transposed = rng.below(2);
    p.b_transposed = rng.below(2);
    p.alpha = AlphaClass::any;
    p.beta = BetaClass::any;
    const auto kind = static_cast<DataKind>(rng.below(kDataKindNames.size()));
    if (!applies(kind, p)) continue;
    const Arena arena = arena_of(p, 1, 0);
    Stage stage(arena, Owner::candidate);
    stage.place(0, draw(p, kind, rng.next64()));
    stage.fill_c(0, Fill::plausible, rng.next64());
    const float alphas[] = {1, 1, -1.25F, 0.3F};
    const float betas[] = {0, 0, 1, -0.75F};
    // Values near the end of the f32 range only unscaled: beta C + alpha A B may overflow there.
    const bool plain = kind == DataKind::large;
    const float alpha = plain ? 1 : alphas[rng.below(4)];
    const float beta = plain ? 0 : betas[rng.below(4)];
    honest_call(arena, 0, alpha, beta, whole(p), static_cast<Summation>(rng.below(5)),
                rng.below(2) == 0);
    const Reference r = reference(p, view_a(arena, 0), view_b(arena, 0), whole(p), true, 1);
    Expectation x{&r, false, static_cast<double>(alpha), static_cast<double>(beta), stage.before(0),
                  1};
    const Agreement agreement = compare(p, view_c(arena, 0), x, false);
    ASSERT_FALSE(agreement.first) << to_text(p) << " " << name_of(kind) << " alpha " << alpha
                                  << " beta " << beta << ": " << agreement.first->text();
    if (is_exact(kind) && alpha == 1 && beta == 0) {
      x.exact = true;
      const Agreement exact = compare(p, view_c(arena, 0), x, false);
      ASSERT_FALSE(exact.first) << to_text(p) << " " << name_of(kind) << exact.first->text();
    }
    results += agreement.results;
    closest = std::max(closest, agreement.max_ratio);
  }
  EXPECT_GT(results, 12000);
  EXPECT_GT(closest, 0.5);  // the bound is not idle
}

// A correctly rounded result moved by two more steps of the output is outside, for every element,
// where accumulation is not the larger term.
TEST(Bounds, TwoStepsOffIsOutside) {
  for (const char* text : {"gemm 24x24x64 f16 acc=f32 nn", "gemm 24x24x64 bf16 acc=f32 nt"}) {
    const Problem p = problem_of(text);
    Operands data = draw(p, DataKind::normal, 3);
    const Reference r = reference(p, packed_a(p, data.a), packed_b(p, data.b), whole(p), true, 1);
    const Terms terms = error_terms(p, p.k, false);
    const Strip& strip = r.strips.at(0);
    int looked_at = 0;
    for (std::size_t i = 0; i < strip.sum.size(); ++i) {
      const double want = strip.sum[i];
      const double magnitude = static_cast<double>(strip.magnitude[i]);
      double ratio = 0;
      const double right = rounded(p.out, want);
      ASSERT_TRUE(within(p.out, terms, right, want, magnitude, &ratio));
      const double step = std::ldexp(2 * unit_roundoff(p.out), std::ilogb(right));
      if (terms.accumulate * magnitude > step / 2) continue;
      ++looked_at;
      for (const double sign : {-1.0, 1.0}) {
        EXPECT_FALSE(within(p.out, terms, right + sign * 2 * step, want, magnitude, &ratio))
            << text << " " << right << " " << want;
      }
    }
    EXPECT_GT(looked_at, 300);
  }
}

TEST(Bounds, NormwiseRatioOfHonestAndOfTwiceRounded) {
  const Problem p = problem_of("gemm 64x64x256 bf16 acc=f32 nn");
  const Arena arena = arena_of(p, 1);
  Stage stage(arena, Owner::candidate);
  stage.place(0, draw(p, DataKind::normal, 5));
  const Reference r = reference(p, view_a(arena, 0), view_b(arena, 0), whole(p), true, 1);
  const Expectation x{&r, false, 1, 0, {}, 1};
  honest_call(arena, 0);
  const Agreement honest = compare(p, view_c(arena, 0), x, true);
  ASSERT_TRUE(norm_applies(p, honest.results));
  EXPECT_NEAR(honest.norm_ratio, 1, 0.02);
  // Two bf16 partials (CASES N08): every element may pass, all together cannot.
  const Strided c = view_c(arena, 0);
  const Rows rows = rows_of(p, view_a(arena, 0), view_b(arena, 0), 0, whole(p));
  for (std::int64_t i = 0; i < p.m; ++i) {
    for (std::int64_t j = 0; j < p.n; ++j) {
      double half[2] = {0, 0};
      for (std::size_t k = 0; k < 256; ++k) {
        half[k / 128] += static_cast<double>(rows.a[static_cast<std::size_t>(i)][k]) *
                         static_cast<double>(rows.b[static_cast<std::size_t>(j)][k]);
      }
      store(p.out, c.row(0, i), j, rounded(p.out, half[0]) + rounded(p.out, half[1]));
    }
  }
  EXPECT_GT(compare(p, c, x, true).norm_ratio, kNormLimit);
}

}  // namespace
}  // namespace tilewright
