// SPDX-License-Identifier: Apache-2.0
// The proof as a whole, without a compiler: honest kernels of every kind of problem pass, and each
// planted fault is caught by the rule meant for it. tests/redteam does the same with real kernels.
#include "verify/proof.h"

#include "verify/faults.h"
#include "verify/timed.h"

#include <cmath>
#include <cstring>
#include <optional>

namespace tilewright {
namespace {

Verdict prove(const Arena& arena, const Caller& caller, std::uint64_t seed = 1) {
  DataLibrary library(arena.problem(), 3);
  HostGround ground(arena, library);
  return Proof(ground, caller, seed).full();
}

class Honest : public ::testing::TestWithParam<const char*> {};

TEST_P(Honest, IsProvenAndStaysRightWhenTimed) {
  const Problem p = problem_of(GetParam());
  const Arena arena = arena_of(p, 3);
  const Caller caller = honest_caller(arena);
  const Verdict verdict = prove(arena, caller);
  EXPECT_TRUE(verdict.finding.ok()) << verdict.finding.rule << ": " << verdict.finding.detail;
  EXPECT_TRUE(verdict.repeatable);
  EXPECT_LE(verdict.max_bound_ratio, 1);
  DataLibrary library(p, 4);
  HostGround ground(arena, library);
  const Verdict quick = Proof(ground, caller, 2).quick();
  EXPECT_TRUE(quick.finding.ok()) << quick.finding.rule << ": " << quick.finding.detail;
  EXPECT_LT(quick.checks, verdict.checks + 1);

  HostGround bench(arena, library);
  TimedOutputs timed(bench, 5);
  timed.arm();
  for (int round = 0; round < 3; ++round) {
    timed.refresh();
    for (const int set : {0, 2, 0, 2, 2}) {
      static_cast<void>(caller.call(set, 1, timed_beta(p)));
    }
    const Finding finding = timed.check({0, 2});
    ASSERT_TRUE(finding.ok()) << round << " " << finding.rule << ": " << finding.detail;
  }
  const Finding finding = timed.replay(caller);
  EXPECT_TRUE(finding.ok()) << finding.rule << ": " << finding.detail;
}

INSTANTIATE_TEST_SUITE_P(Problems, Honest, ::testing::ValuesIn(kHonestProblems));

TEST(Mutations, EachIsCaughtByItsRule) {
  for (const Fault& fault : faults()) {
    const Problem p = problem_of(fault.problem);
    const Arena arena = arena_of(p, 2, 64 + 2 * p.m * p.n);
    int number = 0;
    Caller caller = honest_caller(arena);
    caller.call = [&](int set, float alpha, float beta) {
      fault.kernel({arena, set, alpha, beta, ++number});
      return Finding{};
    };
    const Verdict verdict = prove(arena, caller);
    EXPECT_EQ(name_of(verdict.finding.outcome), name_of(fault.outcome)) << fault.name;
    EXPECT_EQ(verdict.finding.rule, fault.rule) << fault.name << ": " << verdict.finding.detail;
    EXPECT_FALSE(verdict.finding.detail.empty()) << fault.name;
  }
}

TEST(Mutations, RaggedSizes) {
  for (const RaggedFault& fault : ragged_faults()) {
    const Problem p = problem_of("gemm 40x48x100 bf16 acc=f32 nt");
    const Arena arena = arena_of(p, 2);
    Caller caller = honest_caller(arena);
    caller.call_sizes = [&](const Extent& e) {
      fault.kernel(arena, e);
      return Finding{};
    };
    const Verdict verdict = prove(arena, caller);
    EXPECT_EQ(name_of(verdict.finding.outcome), name_of(fault.outcome)) << fault.name;
    EXPECT_EQ(verdict.finding.rule, "ragged") << fault.name << ": " << verdict.finding.detail;
  }
}

TEST(Mutations, OtherBitsEveryTimeAreRecordedAndNoFailure) {
  const Problem p = problem_of("gemm 40x48x1000 bf16 acc=f32 nt out=f32");
  const Arena arena = arena_of(p, 2);
  int number = 0;
  Caller caller = honest_caller(arena);
  caller.call = [&](int set, float alpha, float beta) {
    honest_call(arena, set, alpha, beta, whole(p),
                ++number % 2 ? Summation::forward : Summation::backward);
    return Finding{};
  };
  const Verdict verdict = prove(arena, caller);
  EXPECT_TRUE(verdict.finding.ok()) << verdict.finding.rule << ": " << verdict.finding.detail;
  EXPECT_FALSE(verdict.repeatable);
}

TEST(Mutations, WhatEndsACallEndsTheProof) {
  const Arena arena = arena_of(problem_of("gemm 16x16x64 f16 acc=f32 nn"));
  Caller caller;
  caller.call = [](int, float, float) {
    return Finding{Outcome::crash, "signal:SIGSEGV", "in the candidate"};
  };
  const Verdict verdict = prove(arena, caller);
  EXPECT_EQ(verdict.finding.outcome, Outcome::crash);
  EXPECT_EQ(verdict.checks, 1);
}

TEST(Timed, RoundsThatDoNotComputeAreSeen) {
  for (const char* text :
       {"gemm 40x96x128 f16 acc=f32 nn", "gemm 40x96x128 bf16 acc=f32 tn beta=one",
        "gemm 40x96x128 f16 acc=f32 nt alpha=any beta=any"}) {
    const Problem p = problem_of(text);
    const Arena arena = arena_of(p, 3);
    const Caller caller = honest_caller(arena);
    const float beta = timed_beta(p);
    DataLibrary library(p, 4);
    HostGround ground(arena, library);
    TimedOutputs timed(ground, 5);
    timed.arm();
    timed.refresh();
    for (int set = 0; set < 3; ++set) static_cast<void>(caller.call(set, 1, beta));
    ASSERT_TRUE(timed.check({0, 1, 2}).ok()) << text;
    // The next round leaves one set as it was: its C belongs to an A that is gone.
    timed.refresh();
    for (const int set : {0, 1}) static_cast<void>(caller.call(set, 1, beta));
    EXPECT_EQ(timed.check({0, 1, 2}).rule, "timed-outputs") << text;
    EXPECT_TRUE(timed.check({0, 1}).ok()) << text;
    // A guard, an input.
    *arena.c(1).data() = *arena.c(1).data();
    std::byte* const past = arena.c(1).data() + arena.c(1).size();
    *past ^= std::byte{1};
    EXPECT_EQ(timed.check({0}).rule, "guards") << text;
    *past ^= std::byte{1};
    arena.b(2)[10] ^= std::byte{1};
    EXPECT_EQ(timed.check({0}).rule, "inputs-unchanged") << text;
    arena.b(2)[10] ^= std::byte{1};
    // One small error in set 0, far below what the weighted sums show.
    const Strided c = view_c(arena, 0);
    const double x = load(p.out, c.row(0, 17), 33);
    store(p.out, c.row(0, 17), 33, x + 0.02 * std::fabs(x) + 0.1);
    EXPECT_EQ(timed.check({0}).rule, "timed-outputs") << text;
  }
}

TEST(Timed, ReplayIsOverNaNWithAnotherA) {
  const Problem p = problem_of("gemm 40x48x64 f16 acc=f32 nn");
  const Arena arena = arena_of(p, 2);
  DataLibrary library(p, 4);
  HostGround ground(arena, library);
  TimedOutputs timed(ground, 5);
  timed.arm();
  honest_call(arena, 0);
  const std::vector<std::byte> result = get(view_c(arena, 0));
  Caller remembers;
  remembers.call = [&](int set, float, float) {
    put(view_c(arena, set), result);
    return Finding{};
  };
  EXPECT_EQ(timed.replay(remembers).rule, "replay");
  Caller idle;
  idle.call = [](int, float, float) { return Finding{}; };
  EXPECT_EQ(timed.replay(idle).rule, "replay");
  EXPECT_TRUE(timed.replay(honest_caller(arena)).ok());
}

}  // namespace
}  // namespace tilewright
