// SPDX-License-Identifier: Apache-2.0
// The proof on a device: it draws what the host draws, its reference is the host's, honest results
// of every kind of problem pass, and each planted fault is seen by the rule meant for it. The
// kernel that is proven is a function here that works on a copy of the operands in host memory
// (tests/verify/faults.h), so that the very table of the host's proof is used.
#include "verify/both/drawing.h"
#include "verify/cuda/cuda_ground.h"
#include "verify/cuda/cuda_verifier.h"
#include "verify/faults.h"
#include "verify/timed.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>

namespace tilewright {
namespace {

// The device, its context, and the checker's kernels, compiled once for all tests here.
class CudaProof : public ::testing::Test {
 protected:
#ifdef TILEWRIGHT_EMULATED_CUDA  // tests/fakecuda/driver/emulated_kernels.cc
  static Result<std::unique_ptr<KernelBench>> ready_bench() {
    std::string image(64, '\0');
    for (const char* name : kKernelNames) image += std::string(name) + "\n";
    return KernelBench::load(*context, image);
  }
#else
  static Result<std::unique_ptr<KernelBench>> ready_bench() {
    const int capability = 10 * context->attribute(cuda::kCapabilityMajor) +
                           context->attribute(cuda::kCapabilityMinor);
    return KernelBench::open(*context, *compiler, capability);
  }
#endif

  static void SetUpTestSuite() {
#ifdef TILEWRIGHT_EMULATED_CUDA
    setenv("TILEWRIGHT_LIBCUDA", TILEWRIGHT_EMULATED_CUDA, 1);
#endif
    auto opened = cuda::Context::open(0);
    if (!opened) {
      why_not = opened.error().message;
      return;
    }
    std::string name = (std::filesystem::temp_directory_path() / "tw-gpu-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder = name;
    CompileOptions options;
#ifdef TILEWRIGHT_EMULATED_CUDA
    options.needs = "";
#else
    options.needs = "cuda";
#endif
    options.cache_directory = folder;
    auto made = Compiler::create(options);
    if (!made) {
      why_not = made.error().message;
      return;
    }
    context = std::make_unique<cuda::Context>(std::move(*opened));
    compiler = std::make_unique<Compiler>(std::move(*made));
    auto ready = ready_bench();
    ASSERT_TRUE(ready) << ready.error().message;
    bench = std::move(*ready);
  }
  static void TearDownTestSuite() {
    bench.reset();
    compiler.reset();
    context.reset();
    std::error_code ignored;
    if (!folder.empty()) std::filesystem::remove_all(folder, ignored);
  }
  void SetUp() override {
    if (!bench) GTEST_SKIP() << why_not;
  }
  void TearDown() override {
    if (bench) {
      EXPECT_TRUE(bench->trouble().ok()) << bench->trouble().detail;
    }
  }

  static DeviceArena arena_on(const Problem& p, int sets, std::int64_t workspace = 256) {
    auto made = DeviceArena::create(*context, p, sets, workspace);
    EXPECT_TRUE(made) << (made ? "" : made.error().message);
    return std::move(*made);
  }

  static std::unique_ptr<cuda::Context> context;
  static std::unique_ptr<Compiler> compiler;
  static std::unique_ptr<KernelBench> bench;
  static std::string why_not;
  static std::filesystem::path folder;
};
std::unique_ptr<cuda::Context> CudaProof::context;
std::unique_ptr<Compiler> CudaProof::compiler;
std::unique_ptr<KernelBench> CudaProof::bench;
std::string CudaProof::why_not;
std::filesystem::path CudaProof::folder;

// A host arena that is filled from the device before a call and copied back after it, guards,
// gaps and workspace included.
class Mirror {
 public:
  explicit Mirror(const DeviceArena& device)
      : device_(device),
        host_(arena_of(device.problem(), device.layout().sets, device.layout().workspace_bytes)) {}

  template <class Work>
  Finding call(const Work& work) {
    for_each([&](std::byte* here, cuda::Pointer there, std::size_t bytes) {
      return device_.context().driver().MemcpyDtoH(here, there, bytes);
    });
    work(host_);
    for_each([&](std::byte* here, cuda::Pointer there, std::size_t bytes) {
      return device_.context().driver().MemcpyHtoD(there, here, bytes);
    });
    return {};
  }
  // A caller of `work(arena, set, alpha, beta)`.
  template <class Work>
  Caller caller(const Work& work) {
    Caller made;
    made.call = [this, work](int set, float alpha, float beta) {
      return call([&](const Arena& arena) { work(arena, set, alpha, beta); });
    };
    return made;
  }
  Caller honest() {
    Caller made = caller([](const Arena& arena, int set, float alpha, float beta) {
      honest_call(arena, set, alpha, beta);
    });
    made.call_sizes = [this](const Extent& e) {
      return call(
          [&](const Arena& arena) { honest_call(arena, 0, 1, timed_beta(arena.problem()), e); });
    };
    return made;
  }

 private:
  template <class Copy>
  void for_each(const Copy& copy) {
    // With some of the guard before and behind it.
    const auto piece = [&](std::span<std::byte> here, cuda::Pointer there) {
      const std::size_t around = kGuardBytes;
      ASSERT_EQ(copy(here.data() - around, there - around, here.size() + 2 * around), 0);
    };
    for (int set = 0; set < device_.layout().sets; ++set) {
      piece(host_.a(set), device_.a(set));
      piece(host_.b(set), device_.b(set));
      for (const Owner owner : {Owner::candidate, Owner::baseline}) {
        piece(host_.c(set, owner), device_.c(set, owner));
      }
    }
    piece(host_.workspace(), device_.workspace());
  }

  const DeviceArena& device_;
  Arena host_;
};

std::string text_of(const Finding& finding) {
  return finding.rule + ": " + finding.detail;
}

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
    const cuda::Buffer a = bench->upload(data.a);
    const cuda::Buffer b = bench->upload(data.b);
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
  Library library(p, 3);
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

#ifndef TILEWRIGHT_EMULATED_CUDA
// What takes too long anywhere else: sampled lines of a large product, summed here.
TEST_F(CudaProof, SampledLinesOfALargeProduct) {
  for (const char* text :
       {"gemm 3000x2000x5000 f16 acc=f32 nn", "gemm 1000x4100x6001 bf16 acc=f32 tt"}) {
    const Problem p = problem_of(text);
    Operands data = draw(p, DataKind::normal, 5);
    const cuda::Buffer a = bench->upload(data.a);
    const cuda::Buffer b = bench->upload(data.b);
    const ReferenceLimits limits{0, 0, 16};
    const DeviceReference got =
        device_reference(*bench, p, packed_device_a(p, a.address()),
                         packed_device_b(p, b.address()), whole(p), {}, 11, limits);
    const SamplePlan plan = sample_plan(p, whole(p), 11, limits);
    ASSERT_EQ(got.strips.size(), 2U);
    const auto rows = bench->download<double>(got.strips[0].sum.address(),
                                              plan.rows.size() * static_cast<std::size_t>(p.n));
    const auto cols = bench->download<double>(got.strips[1].sum.address(),
                                              plan.cols.size() * static_cast<std::size_t>(p.m));
    const auto dot = [&](std::int64_t i, std::int64_t j) {
      double sum = 0;
      for (std::int64_t k = 0; k < p.k; ++k) {
        sum += load(p.in, data.a.data(), p.a_transposed ? k * p.m + i : i * p.k + k) *
               load(p.in, data.b.data(), p.b_transposed ? j * p.k + k : k * p.n + j);
      }
      return sum;
    };
    Rng rng(4);
    for (int i = 0; i < 300; ++i) {
      const auto line = static_cast<std::size_t>(rng.below(16));
      const auto col = rng.below(static_cast<std::uint64_t>(p.n));
      const auto row = rng.below(static_cast<std::uint64_t>(p.m));
      EXPECT_NEAR(rows[line * static_cast<std::size_t>(p.n) + col],
                  dot(plan.rows[line], static_cast<std::int64_t>(col)), 1e-9);
      EXPECT_NEAR(cols[row * plan.cols.size() + line],
                  dot(static_cast<std::int64_t>(row), plan.cols[line]), 1e-9);
    }
  }
}

// A session whose contestants are the honest function.
class MirrorSession final : public Session {
 public:
  explicit MirrorSession(const DeviceArena& arena) : mirror_(arena) {}
  Finding call(const std::string& contestant, int set, float alpha, float beta) override {
    const bool candidate = contestant == "candidate";
    return mirror_.call([&](const Arena& arena) {
      const std::vector<std::byte> kept = get(view_c(arena, set));
      honest_call(arena, set, alpha, beta);
      if (candidate) return;
      put(view_c(arena, set, Owner::baseline), get(view_c(arena, set)));
      put(view_c(arena, set), kept);
    });
  }
  Finding call_sizes(std::int64_t m, std::int64_t n, std::int64_t k) override {
    return mirror_.honest().call_sizes({m, n, k});
  }
  TimingReply time(const std::vector<Burst>&) override { return {}; }
  Finding reprepare() override { return {}; }

 private:
  Mirror mirror_;
};

TEST_F(CudaProof, TheVerifierFromProofToReplay) {
  Device device;
  device.kind = DeviceKind::cuda;
  device.cuda.capability =
      10 * context->attribute(cuda::kCapabilityMajor) + context->attribute(cuda::kCapabilityMinor);
  for (const char* text :
       {"gemm 65x97x130 f16 acc=f32 nn", "gemm 31x70x64 f16 acc=f32 nt beta=one"}) {
    const Problem p = problem_of(text);
    const DeviceArena arena = arena_on(p, 2);
    auto made = CudaVerifier::create(arena, device, *compiler, {.seed = 7});
    ASSERT_TRUE(made) << made.error().message;
    CudaVerifier& verifier = **made;
    MirrorSession session(arena);
    if (p.beta == BetaClass::zero) {
      const Verdict baseline = verifier.prove_baseline(session, "reference");
      EXPECT_TRUE(baseline.finding.ok()) << text_of(baseline.finding);
    }
    for (const bool quick : {true, false}) {
      const Verdict verdict = verifier.prove(session, quick, true);
      EXPECT_TRUE(verdict.finding.ok()) << text << ": " << text_of(verdict.finding);
    }
    verifier.arm();
    verifier.refresh();
    for (const int set : {0, 1, 1}) {
      static_cast<void>(session.call("candidate", set, 1, timed_beta(p)));
    }
    const Finding timed = verifier.check_timed({0, 1});
    EXPECT_TRUE(timed.ok()) << text_of(timed);
    const Finding replay = verifier.replay(session);
    EXPECT_TRUE(replay.ok()) << text_of(replay);
  }
}

// Prints what the parts of a proof cost; asserts nothing about time.
TEST_F(CudaProof, Costs) {
  using Clock = std::chrono::steady_clock;
  for (const std::int64_t n : {1024, 4096, 8192}) {
    const Problem p = problem_of(fmt::format("gemm {}x{}x{} f16 acc=f32 nn", n, n, n));
    const DeviceArena arena = arena_on(p, 2);
    CudaShelf shelf(arena, *bench, 3);
    CudaGround ground(shelf);
    ground.paint_guards();
    const auto timed = [&](const char* what, const auto& work) {
      ground.settle();
      const auto start = Clock::now();
      work();
      ground.settle();
      fmt::print("  {:>5} {:<28} {:8.3f} ms\n", n, what,
                 std::chrono::duration<double, std::milli>(Clock::now() - start).count());
    };
    FeedPointer data;
    timed("exact-split-k, first", [&] { data = ground.fixed(DataKind::split_k); });
    timed("fresh normal, brief, first",
          [&] { data = ground.fresh(DataKind::normal, 1, Depth::brief); });
    timed("fresh normal, brief", [&] { data = ground.fresh(DataKind::normal, 2, Depth::brief); });
    timed("place", [&] { ground.place(0, *data); });
    timed("fill C", [&] { ground.fill_c(0, Fill::plausible, 3); });
    timed("intact", [&] { EXPECT_TRUE(ground.intact(0).ok()); });
    timed("compare", [&] { static_cast<void>(ground.compare(0, *data, {}, true)); });
    timed("weigh", [&] { static_cast<void>(ground.weigh(0, *data, false, 1)); });
    // C holds no result, so both find mismatches; a screening with that ends after its first call.
    Caller idle;
    idle.call = [](int, float, float) { return Finding{}; };
    timed("a screening's first call", [&] { static_cast<void>(Proof(ground, idle, 5).quick()); });
    timed("fresh normal, thorough",
          [&] { data = ground.fresh(DataKind::normal, 4, Depth::thorough); });
    timed("timed: draw A", [&] { ground.draw_a(0, DataKind::normal, 5); });
    timed("timed: weigh, first", [&] { static_cast<void>(ground.weigh_present(0, 0, 6)); });
    timed("timed: weigh", [&] { static_cast<void>(ground.weigh_present(0, 0, 6)); });
    timed("timed: compare",
          [&] { static_cast<void>(ground.compare_present(0, {}, 7, Depth::brief)); });
    timed("timed: all intact", [&] { static_cast<void>(ground.all_intact()); });
  }
}
#endif

}  // namespace
}  // namespace tilewright
