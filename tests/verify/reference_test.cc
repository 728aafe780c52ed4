// SPDX-License-Identifier: Apache-2.0
// The fast reference against a triple loop, for every layout, odd sizes, batches and strides.
#include "verify/reference.h"

#include "verify/honest.h"

#include <cmath>

namespace tilewright {
namespace {

void expect_plain(const Problem& p, const Arena& arena, const Reference& r, const Extent& e) {
  for (const Strip& strip : r.strips) {
    const Rows rows = rows_of(p, view_a(arena, 0), view_b(arena, 0), strip.batch, e);
    for (std::size_t i = 0; i < strip.rows.size(); ++i) {
      for (std::size_t j = 0; j < strip.cols.size(); ++j) {
        const auto& a = rows.a[static_cast<std::size_t>(strip.rows[i])];
        const auto& b = rows.b[static_cast<std::size_t>(strip.cols[j])];
        double sum = 0, magnitude = 0;
        for (std::size_t k = 0; k < a.size(); ++k) {
          const double product = static_cast<double>(a[k]) * static_cast<double>(b[k]);
          sum += product;
          magnitude += std::fabs(product);
        }
        const std::size_t at = i * strip.cols.size() + j;
        ASSERT_NEAR(strip.sum[at], sum, magnitude * 0x1p-48) << to_text(p) << i << " " << j;
        ASSERT_NEAR(static_cast<double>(strip.magnitude[at]), magnitude, magnitude * 0x1p-16);
      }
    }
  }
}

TEST(ReferenceTest, EqualsATripleLoop) {
  for (const char* sizes : {"1x1x1", "5x7x3", "12x32x17", "13x33x257", "64x48x300", "1x130x64",
                            "130x1x31", "97x101x513", "3x4x0"}) {
    for (const char* layout : {"nn", "nt", "tn", "tt"}) {
      for (const char* type : {"f16", "bf16"}) {
        const Problem p = problem_of(std::string("gemm ") + sizes + " " + type + " acc=f32 " +
                                     layout + " batch=2 lda=601 ldb=603 ldc=205");
        const Arena arena = arena_of(p, 1);
        Stage stage(arena, Owner::candidate);
        stage.place(0, draw(p, DataKind::normal, 11));
        const Reference r = reference(p, view_a(arena, 0), view_b(arena, 0), whole(p), true, 1);
        ASSERT_TRUE(r.full);
        ASSERT_EQ(r.strips.size(), 2U);
        expect_plain(p, arena, r, whole(p));
        // A part of the sizes, with what lies outside it never touched.
        const Extent part{(p.m + 1) / 2, (p.n + 2) / 3, p.k / 2};
        expect_plain(p, arena, reference(p, view_a(arena, 0), view_b(arena, 0), part, true, 1),
                     part);
      }
    }
  }
}

TEST(ReferenceTest, SamplesWhatIsTooLarge) {
  const Problem p = problem_of("gemm 301x257x65 bf16 acc=f32 tn batch=5");
  const Arena arena = arena_of(p, 1);
  Stage stage(arena, Owner::candidate);
  stage.place(0, draw(p, DataKind::normal, 4));
  const Reference r = reference(p, view_a(arena, 0), view_b(arena, 0), whole(p), true, 9, 1 << 20);
  EXPECT_FALSE(r.full);
  ASSERT_EQ(r.strips.size(), 6U);  // rows and columns of three batch entries
  for (const Strip& strip : r.strips) {
    EXPECT_EQ(strip.rows.front(), 0);
    EXPECT_EQ(strip.rows.back(), p.m - 1);
    EXPECT_EQ(strip.cols.front(), 0);
    EXPECT_EQ(strip.cols.back(), p.n - 1);
    EXPECT_EQ(std::min(strip.rows.size(), strip.cols.size()), 16U);
  }
  EXPECT_EQ(r.strips.front().batch, 0);
  EXPECT_EQ(r.strips.back().batch, 4);
  expect_plain(p, arena, r, whole(p));
}

}  // namespace
}  // namespace tilewright
