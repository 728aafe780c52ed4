// SPDX-License-Identifier: Apache-2.0
// Twenty thousand random problems against the f64 reference, on every instruction set that this
// machine has: types, layouts, sizes from 0, strides with gaps and of 0, any alignment, batches,
// scalars with special values, bias, activations, modes. Any failure prints its case.
#include "product.h"
#include "runtime/cpu/choice.h"
#include "runtime/cpu/division.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>

namespace tilewright::runtime {
namespace {

constexpr std::size_t kBedBytes = std::size_t{4} << 20;

template <class T, std::size_t N>
T one_of(const std::array<T, N>& values, Rng& rng) {
  return values[rng.below(N)];
}

// Log-uniform, now and then 0.
std::int64_t drawn_size(std::int64_t most, Rng& rng) {
  if (rng.below(60) == 0) return 0;
  return static_cast<std::int64_t>(
      std::exp(rng.uniform() * std::log(static_cast<double>(most + 1))));
}

Case drawn_case(std::uint64_t seed) {
  Rng rng(seed, 7);
  Case what;
  Call& call = what.call;
  call.in = rng.below(2) == 0 ? ElementType::f16 : ElementType::bf16;
  call.out = rng.below(3) == 0 ? ElementType::f32 : call.in;
  call.a_transposed = rng.below(2) == 0;
  call.b_transposed = rng.below(2) == 0;
  call.activation =
      one_of(std::array{TW_NO_ACTIVATION, TW_NO_ACTIVATION, TW_RELU, TW_GELU, TW_SILU}, rng);
  call.mode = one_of(std::array{TW_FASTEST, TW_FASTEST, TW_DETERMINISTIC, TW_BATCH_INVARIANT}, rng);
  call.f16_sums = rng.below(8) == 0;
  call.m = drawn_size(rng.below(4) == 0 ? 90 : 20, rng);
  call.n = drawn_size(rng.below(4) == 0 ? 300 : 40, rng);
  call.k = drawn_size(rng.below(4) == 0 ? 400 : 60, rng);
  if (rng.below(6) == 0) call.batch = static_cast<std::int64_t>(rng.below(4));
  const auto gap = [&] { return rng.below(3) == 0 ? static_cast<std::int64_t>(rng.below(20)) : 0; };
  call.lda = call.a_columns() + gap();
  call.ldb = call.b_columns() + gap();
  call.ldc = call.n + gap();
  call.stride_a = call.a_rows() * call.lda + gap();
  call.stride_b = call.b_rows() * call.ldb + gap();
  call.stride_c = call.m * call.ldc + gap();
  if (rng.below(20) == 0) call.lda = 0;
  if (rng.below(20) == 0) call.ldb = 0;
  if (rng.below(4) == 0) call.stride_a = 0;
  if (rng.below(4) == 0) call.stride_b = 0;
  what.alpha = one_of(std::array{1.0F, 1.0F, 0.0F, -1.0F, 0.37F, -2.5F}, rng);
  what.beta = one_of(std::array{0.0F, 0.0F, 1.0F, -1.0F, 0.61F, 3.0F}, rng);
  if (rng.below(50) == 0) what.alpha = NAN;
  if (rng.below(50) == 0) what.beta = NAN;
  what.bias = rng.below(3) == 0;
  what.at_end = rng.below(4) != 0;
  what.data = one_of(
      std::array{Data::normal, Data::normal, Data::integers, Data::tiny, Data::special}, rng);
  what.seed = seed;
  return what;
}

TEST(Property, RandomProblemsMatchTheReference) {
  constexpr std::uint64_t kProblems = 21'000;
  std::vector<std::unique_ptr<Backend>> backends;
  for (const std::string& isa : isas_here()) backends.push_back(open_with(isa, 2));
  Bed bed(kBedBytes);
  for (std::uint64_t i = 0; i < kProblems; ++i) {
    const Case what = drawn_case(i);
    bed.fill(what);
    const std::string wrong = bed.run_and_check(*backends[i % backends.size()]);
    ASSERT_TRUE(wrong.empty()) << isas_here()[i % backends.size()] << ": " << text_of(what) << ": "
                               << wrong;
  }
}

// The parts of any grid put together are the bits of one thread's result.
TEST(Property, DivisionChangesNoBit) {
  Bed bed(kBedBytes);
  for (const std::string& isa : isas_here()) {
    const auto here = cpu::isa_for(detect_cpu(), isa.c_str());
    ASSERT_TRUE(here.has_value());
    const cpu::Chooser chooser(*here, {});
    for (std::uint64_t seed = 0; seed < 1000; ++seed) {
      const Case what = drawn_case(1'000'000 + seed);
      if (what.call.empty()) continue;
      cpu::Plan plan;
      plan.call = what.call;
      plan.kernel = chooser.choose(what.call, 1).kernel;
      ASSERT_NE(plan.kernel, nullptr);
      const tw_cpu_team alone = {0, 1, nullptr, nullptr};
      bed.fill(what);
      ASSERT_TRUE(lay_out(plan).has_value());
      // A workspace is what the launch asks for and no byte more.
      const Fenced memory(plan.workspace());
      cpu::compute(plan, bed.operands(), part_of(plan.call, *plan.kernel, {}, 0),
                   memory.place(plan.workspace(), true), alone);
      ASSERT_EQ(bed.check(), "") << isa << ": " << text_of(what);
      const auto whole = bed.result();
      plan.threads = 2 + static_cast<int>(seed % 7);
      ASSERT_TRUE(lay_out(plan).has_value());
      bed.restore();
      const Fenced shared(plan.workspace());
      std::byte* const workspace = shared.place(plan.workspace(), true);
      for (int thread = 0; thread < plan.threads; ++thread) {
        const auto offset = static_cast<std::size_t>(thread) * plan.thread_workspace;
        cpu::compute(plan, bed.operands(), part_of(plan.call, *plan.kernel, plan.grid, thread),
                     workspace + offset, alone);
      }
      ASSERT_EQ(bed.result(), whole) << isa << ": " << text_of(what) << " in " << plan.threads;
    }
  }
}

// Sizes that the team shares, slabs, and more k than one block.
TEST(Property, LargerProblemsOnATeam) {
  Bed bed(std::size_t{8} << 20);
  const std::string isa = isas_here().back();
  const auto backend = open_with(isa, 4);
  struct Sizes {
    std::int64_t m, n, k, batch;
  };
  std::uint64_t seed = 5'000'000;
  for (const Sizes& s : {Sizes{1, 1003, 700, 1},
                         {1, 9001, 40, 1},
                         {3, 500, 300, 2},
                         {130, 200, 310, 1},
                         {2300, 31, 20, 1},
                         {33, 65, 129, 9},
                         {64, 64, 64, 33},
                         {7, 8300, 33, 1}}) {
    for (int i = 0; i < 6; ++i) {
      Case what = drawn_case(++seed);
      Call& call = what.call;
      call.m = s.m, call.n = s.n, call.k = s.k, call.batch = s.batch;
      call.lda = call.ldb = call.ldc = call.stride_a = call.stride_b = call.stride_c = 0;
      call = packed(call);
      bed.fill(what);
      ASSERT_EQ(bed.run_and_check(*backend), "") << text_of(what);
    }
  }
}

}  // namespace
}  // namespace tilewright::runtime
