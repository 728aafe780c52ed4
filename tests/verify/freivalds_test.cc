// SPDX-License-Identifier: Apache-2.0
// Freivalds products: honest results pass, faults anywhere are seen.
#include "verify/freivalds.h"

#include "verify/honest.h"

#include <cmath>

namespace tilewright {
namespace {

class FreivaldsTest : public ::testing::TestWithParam<const char*> {};

TEST_P(FreivaldsTest, HonestPassesAndFaultsDoNot) {
  const Problem p = problem_of(GetParam());
  const Arena arena = arena_of(p, 1);
  Stage stage(arena, Owner::candidate);
  stage.place(0, draw(p, DataKind::normal, 8));
  honest_call(arena, 0);
  const Strided a = view_a(arena, 0);
  const Strided c = view_c(arena, 0);
  const std::vector<std::byte> right = get(c);
  const std::int64_t batch = p.batch - 1;
  Rng rng(1);
  int exchanges_seen = 0;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const Freivalds freivalds(p, view_b(arena, 0), seed);
    put(c, right);
    const auto off = freivalds.check(a, c, {});
    ASSERT_FALSE(off) << off->text();
    // One element becomes what a skipped store would leave.
    const auto row = static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(p.m)));
    const auto col = static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(p.n)));
    const double value = load(p.out, c.row(batch, row), col);
    if (std::fabs(value) > 0.5 * std::sqrt(static_cast<double>(p.k))) {
      store(p.out, c.row(batch, row), col, 0);
      const auto skipped = freivalds.check(a, c, {});
      ASSERT_TRUE(skipped);
      EXPECT_EQ(skipped->row, row);
      EXPECT_EQ(skipped->batch, batch);
    }
    put(c, right);
    fill_nan({c.row(batch, row), c.type, 1, 1, 1, 1, 1});
    EXPECT_TRUE(freivalds.check(a, c, {}));
    // The last row is missing; the last column group is zero; two columns are exchanged.
    put(c, right);
    for (std::int64_t j = 0; j < p.n; ++j) store(p.out, c.row(batch, p.m - 1), j, 0);
    EXPECT_TRUE(freivalds.check(a, c, {}));
    put(c, right);
    for (std::int64_t i = 0; i < p.m; ++i) {
      const double x = load(p.out, c.row(batch, i), 0);
      store(p.out, c.row(batch, i), 0, load(p.out, c.row(batch, i), 1));
      store(p.out, c.row(batch, i), 1, x);
    }
    exchanges_seen += freivalds.check(a, c, {}) ? 1 : 0;
  }
  // Two columns may by chance have nearly the same weight.
  EXPECT_GE(exchanges_seen, 8);
  // A result of other data.
  stage.place_a(0, draw_a(p, DataKind::normal, 99));
  put(c, right);
  EXPECT_TRUE(Freivalds(p, view_b(arena, 0), 3).check(a, c, {}));
}

INSTANTIATE_TEST_SUITE_P(Problems, FreivaldsTest,
                         ::testing::Values("gemm 40x200x64 f16 acc=f32 nn",
                                           "gemm 33x65x257 bf16 acc=f32 nt batch=3",
                                           "gemm 20x130x31 f16 acc=f32 tn out=f32 ldc=150",
                                           "gemm 17x64x512 bf16 acc=f32 tt lda=40 ldb=520"));

TEST(FreivaldsExact, SeesOneUnitInOneElement) {
  const Problem p = problem_of("gemm 64x192x256 f16 acc=f32 nn");
  const Arena arena = arena_of(p, 1);
  Stage stage(arena, Owner::candidate);
  stage.place(0, draw(p, DataKind::split_k, 8));
  honest_call(arena, 0);
  const Strided c = view_c(arena, 0);
  Freivalds::Options exact;
  exact.exact = true;
  const Freivalds freivalds(p, view_b(arena, 0), 4);
  ASSERT_FALSE(freivalds.check(view_a(arena, 0), c, exact));
  for (std::int64_t i = 0; i < p.m; i += 7) {
    for (std::int64_t j = 0; j < p.n; j += 5) {
      const double value = load(p.out, c.row(0, i), j);
      store(p.out, c.row(0, i), j, value + 1);
      ASSERT_TRUE(freivalds.check(view_a(arena, 0), c, exact)) << i << " " << j;
      store(p.out, c.row(0, i), j, value);
    }
  }
}

// Repeated calls that accumulate into C are checked as well, and how many there were is seen.
TEST(FreivaldsRepeated, CountsCallsAndBoundsThem) {
  for (const char* text :
       {"gemm 24x70x48 f16 acc=f32 nn beta=one", "gemm 24x70x48 bf16 acc=f32 nn beta=any"}) {
    const Problem p = problem_of(text);
    const double beta = static_cast<double>(timed_beta(p));
    for (const std::int64_t calls : {1, 2, 3, 9}) {
      const Arena arena = arena_of(p, 1);
      Stage stage(arena, Owner::candidate);
      stage.place(0, draw(p, beta == 1 ? DataKind::damped : DataKind::normal, 8));
      stage.fill_c(0, beta == 1 ? Fill::damped : Fill::plausible, 3);
      const Freivalds freivalds(p, view_b(arena, 0), 4);
      const Strided a = view_a(arena, 0);
      const Strided c = view_c(arena, 0);
      const Freivalds::Weighed before = freivalds.weigh(c);
      Freivalds::Options options;
      options.beta = beta;
      options.before = &before;
      for (std::int64_t i = 0; i < calls; ++i) honest_call(arena, 0, 1, timed_beta(p));
      options.calls = freivalds.count_calls(a, c, beta, before, 1000);
      EXPECT_EQ(options.calls, calls) << text;
      const auto off = freivalds.check(a, c, options);
      EXPECT_FALSE(off) << text << calls << off->text();
      const Reference r = reference(p, a, view_b(arena, 0), whole(p), true, 1);
      const Expectation x{&r, false, 1, beta, stage.before(0), calls};
      const Agreement agreement = compare(p, c, x, false);
      EXPECT_FALSE(agreement.first) << text << calls << agreement.first->text();
      for (std::int64_t j = 0; j < p.n; ++j) store(p.out, c.row(0, 5), j, 0);
      options.calls = freivalds.count_calls(a, c, beta, before, 1000);
      EXPECT_TRUE(freivalds.check(a, c, options)) << text << calls;
      EXPECT_TRUE(compare(p, c, x, false).first);
    }
  }
}

}  // namespace
}  // namespace tilewright
