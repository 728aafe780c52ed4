// SPDX-License-Identifier: Apache-2.0
// The proof on a device alone: large products, the whole Verifier, and what its parts cost.
#include "gpu/cuda_proof.h"

namespace tilewright {
namespace {

// What takes too long anywhere else: sampled lines of a large product, summed here.
TEST_F(CudaProof, SampledLinesOfALargeProduct) {
  for (const char* text :
       {"gemm 3000x2000x5000 f16 acc=f32 nn", "gemm 1000x4100x6001 bf16 acc=f32 tt"}) {
    const Problem p = problem_of(text);
    Operands data = draw(p, DataKind::normal, 5);
    const PooledMemory a = bench->upload(data.a);
    const PooledMemory b = bench->upload(data.b);
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

}  // namespace
}  // namespace tilewright
