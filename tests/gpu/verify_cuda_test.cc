// SPDX-License-Identifier: Apache-2.0
// The proof on a device: it draws what the host draws, its reference is the host's, honest results
// of every kind of problem pass, and each planted fault is seen by the rule meant for it. The
// kernel that is proven is a function here that works on a copy of the operands in host memory
// (tests/verify/faults.h), so that the very table of the host's proof is used.
#include "gpu/cuda_proof.h"

namespace tilewright {
namespace {

TEST_F(CudaProof, DrawsWhatTheHostDraws) {
  for (const char* text :
       {"gemm 33x29x130 f16 acc=f32 nn", "gemm 33x29x131 bf16 acc=f32 tt batch=3 lda=40",
        "gemm 64x128x2050 f16 acc=f32 nt", "gemm 7x5x2 bf16 acc=f32 tn ldb=9"}) {
    const Problem p = problem_of(text);
    const DeviceArena arena = arena_on(p, 1);
    CudaShelf shelf(arena, *bench, 3);
    CudaGround ground(shelf);
    Mirror mirror(arena);
    for (std::size_t k = 0; k < kDataKindNames.size(); ++k) {
      const auto kind = static_cast<DataKind>(k);
      if (!applies(kind, p)) continue;
      ground.place(0, *ground.fresh(kind, 77 + k, Depth::brief));
      const Operands wanted = draw(p, kind, 77 + k);
      static_cast<void>(mirror.call([&](const Arena& host) {
        EXPECT_TRUE(same(view_a(host, 0), wanted.a)) << text << " " << name_of(kind);
        EXPECT_TRUE(same(view_b(host, 0), wanted.b)) << text << " " << name_of(kind);
      }));
    }
    for (const Fill fill : {Fill::plausible, Fill::damped, Fill::even}) {
      ground.fill_c(0, fill, 9);
      const std::vector<std::byte> wanted =
          fill == Fill::even
              ? even_c(p, 9)
              : plausible_c(p, 9, fill == Fill::damped ? DataKind::damped : DataKind::normal);
      static_cast<void>(mirror.call(
          [&](const Arena& host) { EXPECT_TRUE(same(view_c(host, 0), wanted)) << text; }));
    }
  }
}

// Full and sampled, against the host's product of the same operands.
TEST_F(CudaProof, TheReferenceIsTheHosts) {
  for (const char* text :
       {"gemm 65x130x77 f16 acc=f32 nn", "gemm 130x65x300 bf16 acc=f32 tt batch=2",
        "gemm 64x64x16 f16 acc=f32 tn", "gemm 3x200x1 bf16 acc=f32 nt"}) {
    const Problem p = problem_of(text);
    Operands data = draw(p, DataKind::normal, 5);
    const Reference wanted = reference(p, packed_a(p, data.a), packed_b(p, data.b), whole(p), true,
                                       1, std::numeric_limits<std::int64_t>::max());
    const PooledMemory a = bench->upload(data.a);
    const PooledMemory b = bench->upload(data.b);
    for (const ReferenceLimits limits : {kThorough, ReferenceLimits{0, 0, 7}}) {
      const DeviceReference got =
          device_reference(*bench, p, packed_device_a(p, a.address()),
                           packed_device_b(p, b.address()), whole(p), {}, 11, limits);
      EXPECT_EQ(got.full, limits.lines != 7);
      const SamplePlan plan = sample_plan(p, whole(p), 11, limits);
      for (const DeviceStrip& strip : got.strips) {
        const auto count =
            static_cast<std::size_t>(strip.batches.count * strip.rows.count * strip.cols.count);
        const auto sum = bench->download<double>(strip.sum.address(), count);
        const auto size = bench->download<float>(strip.magnitude.address(), count);
        const auto index = [](const Chosen& chosen, const std::vector<long long>& list,
                              std::size_t i) {
          return chosen.at == nullptr ? i : static_cast<std::size_t>(list[i]);
        };
        for (std::size_t i = 0; i < count; ++i) {
          const auto cols = static_cast<std::size_t>(strip.cols.count);
          const auto rows = static_cast<std::size_t>(strip.rows.count);
          const std::size_t batch = index(strip.batches, plan.batches, i / cols / rows);
          const std::size_t at =
              index(strip.rows, plan.rows, i / cols % rows) * static_cast<std::size_t>(p.n) +
              index(strip.cols, plan.cols, i % cols);
          const double magnitude = static_cast<double>(wanted.strips[batch].magnitude[at]);
          ASSERT_NEAR(sum[i], wanted.strips[batch].sum[at], 1e-13 * magnitude) << text << " " << i;
          ASSERT_NEAR(static_cast<double>(size[i]), magnitude, 1e-4 * magnitude) << text;
        }
      }
    }
  }
}

// With limits that make every reference a sample with weighed sums beside it, too.
TEST_F(CudaProof, HonestKernelsPass) {
  for (const bool sampled : {false, true}) {
    int number = 0;
    for (const char* text : kHonestProblems) {
#ifdef TILEWRIGHT_EMULATED_CUDA  // slow
      if (sampled && ++number % 3 != 0) continue;
#else
      static_cast<void>(++number);
#endif
      const Problem p = problem_of(text);
      const DeviceArena arena = arena_on(p, 3);
      CudaShelf::Limits limits;
      if (sampled) limits = {{0, 0, 5}, {0, 0, 3}};
      CudaShelf shelf(arena, *bench, 3, limits);
      CudaGround ground(shelf);
      Mirror mirror(arena);
      const Caller caller = mirror.honest();
      const Verdict verdict = Proof(ground, caller, 1).full();
      ASSERT_TRUE(verdict.finding.ok()) << text << ": " << text_of(verdict.finding);
      EXPECT_TRUE(verdict.repeatable) << text;
      EXPECT_LE(verdict.max_bound_ratio, 1) << text;
      const Verdict quick = Proof(ground, caller, 2).quick();
      ASSERT_TRUE(quick.finding.ok()) << text << ": " << text_of(quick.finding);

      TimedOutputs timed(ground, 5);
      timed.arm();
      for (int round = 0; round < 2; ++round) {
        timed.refresh();
        for (const int set : {0, 2, 0, 2, 2}) {
          static_cast<void>(caller.call(set, 1, timed_beta(p)));
        }
        const Finding finding = timed.check({0, 2});
        ASSERT_TRUE(finding.ok()) << text << " " << round << " " << text_of(finding);
      }
      const Finding finding = timed.replay(caller);
      ASSERT_TRUE(finding.ok()) << text << ": " << text_of(finding);
    }
  }
}

TEST_F(CudaProof, TheVerdictHasTheHostsNumbers) {
  const Problem p = problem_of("gemm 96x88x512 f16 acc=f32 nn ldc=96");
  const DeviceArena arena = arena_on(p, 2);
  CudaShelf shelf(arena, *bench, 3);
  CudaGround ground(shelf);
  Mirror mirror(arena);
  const Verdict here = Proof(ground, mirror.honest(), 1).full();
  const Arena host = arena_of(p, 2);
  DataLibrary library(p, 3);
  HostGround on_host(host, library);
  const Verdict there = Proof(on_host, honest_caller(host), 1).full();
  EXPECT_TRUE(here.finding.ok()) << text_of(here.finding);
  EXPECT_EQ(here.checks, there.checks);
  EXPECT_NEAR(here.max_abs_error, there.max_abs_error, 1e-12);
  EXPECT_NEAR(here.norm_ratio, there.norm_ratio, 1e-9);
  EXPECT_NEAR(here.max_bound_ratio, there.max_bound_ratio, 1e-3);
}

TEST_F(CudaProof, EachFaultIsCaughtByItsRule) {
  for (const Fault& fault : faults()) {
    const Problem p = problem_of(fault.problem);
    const DeviceArena arena = arena_on(p, 2, 64 + 2 * p.m * p.n);
    CudaShelf shelf(arena, *bench, 3);
    CudaGround ground(shelf);
    Mirror mirror(arena);
    int number = 0;
    Caller caller = mirror.caller([&](const Arena& host, int set, float alpha, float beta) {
      fault.kernel({host, set, alpha, beta, ++number});
    });
    caller.call_sizes = mirror.honest().call_sizes;
    const Verdict verdict = Proof(ground, caller, 1).full();
    EXPECT_EQ(name_of(verdict.finding.outcome), name_of(fault.outcome)) << fault.name;
    EXPECT_EQ(verdict.finding.rule, fault.rule) << fault.name << ": " << verdict.finding.detail;
    EXPECT_FALSE(verdict.finding.detail.empty()) << fault.name;
  }
}

TEST_F(CudaProof, RaggedFaults) {
  for (const RaggedFault& fault : ragged_faults()) {
    const DeviceArena arena = arena_on(problem_of("gemm 40x48x100 bf16 acc=f32 nt"), 2);
    CudaShelf shelf(arena, *bench, 3);
    CudaGround ground(shelf);
    Mirror mirror(arena);
    Caller caller = mirror.honest();
    caller.call_sizes = [&](const Extent& e) {
      return mirror.call([&](const Arena& host) { fault.kernel(host, e); });
    };
    const Verdict verdict = Proof(ground, caller, 1).full();
    EXPECT_EQ(name_of(verdict.finding.outcome), name_of(fault.outcome)) << fault.name;
    EXPECT_EQ(verdict.finding.rule, "ragged") << fault.name << ": " << verdict.finding.detail;
  }
}

// A wrong result that no sampled row or column shows, and the contract of a zeroed workspace.
TEST_F(CudaProof, WhatASampleLeavesOutIsWeighed) {
  const Problem p = problem_of("gemm 64x96x256 f16 acc=f32 nn");
  const DeviceArena arena = arena_on(p, 2);
  CudaShelf shelf(arena, *bench, 3, {{0, 0, 2}, {0, 0, 2}});  // the first and the last alone
  CudaGround ground(shelf);
  Mirror mirror(arena);
  const Caller caller = mirror.caller([](const Arena& host, int set, float alpha, float beta) {
    honest_call(host, set, alpha, beta);
    const Strided c = view_c(host, set);
    store(c.type, c.row(0, 17), 33, load(c.type, c.row(0, 17), 33) + 1);
  });
  const Verdict verdict = Proof(ground, caller, 1).quick();
  EXPECT_EQ(verdict.finding.rule, "exact-split-k");
  EXPECT_NE(verdict.finding.detail.find("weighted sums"), std::string::npos)
      << verdict.finding.detail;
}

TEST_F(CudaProof, TheHeadOfAZeroedWorkspaceStaysZero) {
  const Problem p = problem_of("gemm 40x48x64 f16 acc=f32 nn");
  DeviceArena arena = arena_on(p, 2, 4096);
  arena.use_workspace(1024, 64);
  CudaShelf shelf(arena, *bench, 3);
  CudaGround ground(shelf);
  Mirror mirror(arena);
  bool leaves_zero = true, over_the_end = false;
  const Caller caller = mirror.caller([&](const Arena& host, int set, float alpha, float beta) {
    honest_call(host, set, alpha, beta);
    for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(host.workspace()[i], std::byte{0});
    host.workspace()[64] = std::byte{7};
    if (!leaves_zero) host.workspace()[63] = std::byte{1};
    if (over_the_end) host.workspace()[1024] ^= std::byte{1};
  });
  const Verdict honest = Proof(ground, caller, 1).full();
  EXPECT_TRUE(honest.finding.ok()) << text_of(honest.finding);
  over_the_end = true;
  EXPECT_EQ(Proof(ground, caller, 2).quick().finding.rule, "guards");
  over_the_end = false;
  leaves_zero = false;
  EXPECT_EQ(Proof(ground, caller, 3).quick().finding.rule, "workspace");
}

TEST_F(CudaProof, TimedRoundsThatDoNotComputeAreSeen) {
  for (const char* text :
       {"gemm 40x96x128 f16 acc=f32 nn", "gemm 40x96x128 bf16 acc=f32 tn beta=one",
        "gemm 40x96x128 f16 acc=f32 nt alpha=any beta=any"}) {
    const Problem p = problem_of(text);
    const DeviceArena arena = arena_on(p, 3);
    CudaShelf shelf(arena, *bench, 3);
    CudaGround ground(shelf);
    Mirror mirror(arena);
    const Caller caller = mirror.honest();
    const float beta = timed_beta(p);
    TimedOutputs timed(ground, 5);
    timed.arm();
    timed.refresh();
    for (int set = 0; set < 3; ++set) static_cast<void>(caller.call(set, 1, beta));
    ASSERT_TRUE(timed.check({0, 1, 2}).ok()) << text;
    timed.refresh();
    for (const int set : {0, 1}) static_cast<void>(caller.call(set, 1, beta));
    EXPECT_EQ(timed.check({0, 1, 2}).rule, "timed-outputs") << text;
    EXPECT_TRUE(timed.check({0, 1}).ok()) << text;
    const auto spoil = [&](const auto& where) {
      static_cast<void>(mirror.call([&](const Arena& host) { *where(host) ^= std::byte{1}; }));
    };
    const auto past = [](const Arena& host) { return host.c(1).data() + host.c(1).size(); };
    spoil(past);
    EXPECT_EQ(timed.check({0}).rule, "guards") << text;
    spoil(past);
    const auto input = [](const Arena& host) { return &host.b(2)[10]; };
    spoil(input);
    EXPECT_EQ(timed.check({0}).rule, "inputs-unchanged") << text;
    spoil(input);
    EXPECT_TRUE(timed.check({0}).ok()) << text;
    static_cast<void>(mirror.call([&](const Arena& host) {
      const Strided c = view_c(host, 0);
      const double x = load(p.out, c.row(0, 17), 33);
      store(p.out, c.row(0, 17), 33, x + 0.02 * std::fabs(x) + 0.1);
    }));
    EXPECT_EQ(timed.check({0}).rule, "timed-outputs") << text;
    Caller idle;
    idle.call = [](int, float, float) { return Finding{}; };
    EXPECT_EQ(timed.replay(idle).rule, "replay") << text;
    EXPECT_TRUE(timed.replay(caller).ok()) << text;
  }
}

}  // namespace
}  // namespace tilewright
