// SPDX-License-Identifier: Apache-2.0
// The kernels of all families on a device: programs drawn from the legal space, for ragged sizes,
// all layouts, types and scalings, each through the whole proof with its ragged neighbours.
// CudaFamilies.Small is what scripts/sanitize_gpu.sh runs under compute-sanitizer.
#include "base/file.h"
#include "base/scratch_folder.h"
#include "compile/compile.h"
#include "device/cuda/detect.h"
#include "execute/cuda/cuda_worker.h"
#include "execute/cuda/mirror.h"
#include "launch/cuda/call.h"
#include "program/space.h"
#include "verify/cuda/cuda_verifier.h"
#include "verify/verify.h"

#include "cuda_libraries.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace tilewright {
namespace {

struct Candidate {
  Program program;
  CompileResult built;
};

class CudaFamilies : public ::testing::Test {
 protected:
  void SetUp() override {
    use_test_libraries();
    auto found = detect_cuda(0);
    if (!found) GTEST_SKIP() << "no CUDA device: " << found.error().message;
    device_ = *found;
    auto context = cuda::Context::open(0);
    ASSERT_TRUE(context) << context.error().message;
    context_ = std::make_unique<cuda::Context>(*std::move(context));
    CompileOptions options;
    options.needs = "cuda";
    options.cache_directory = folder_.path();
    auto compiler = Compiler::create(options);
    if (!compiler) GTEST_SKIP() << "no CUDA compiler: " << compiler.error().message;
    compiler_ = std::make_unique<Compiler>(*std::move(compiler));
    WorkerOptions worker_options;
    worker_options.call_limit = std::chrono::seconds(20);  // a sanitizer slows calls down
    auto worker = CudaWorker::start(worker_options, device_);
    ASSERT_TRUE(worker) << worker.error().message;
    worker_ = std::make_unique<CudaWorker>(*std::move(worker));
  }
  // `count` legal programs, compiled on all cores.
  std::vector<Candidate> candidates(const char* family, const Problem& problem, int count,
                                    std::uint64_t seed) {
    std::vector<Candidate> list;
    const Space space(*find_family(family), problem, device_);
    Rng rng(seed);
    for (int i = 0; i < count; ++i) {
      if (auto program = space.sample(rng)) list.push_back({*std::move(program), {}});
    }
    std::atomic<std::size_t> next = 0;
    std::vector<std::jthread> threads;
    for (unsigned t = 0; t < std::max(1U, std::thread::hardware_concurrency()); ++t) {
      threads.emplace_back([&] {
        for (std::size_t i = next++; i < list.size(); i = next++) {
          const auto source = generate(list[i].program, problem, device_);
          if (source) list[i].built = compiler_->compile(*source);
        }
      });
    }
    threads.clear();
    return list;
  }

  struct Bench {
    DeviceArena arena;
    std::unique_ptr<CudaVerifier> verifier;
  };
  std::unique_ptr<Bench> bench_for(const Problem& problem) {
    auto arena = DeviceArena::create(*context_, problem, 2, std::int64_t{256} << 20);
    EXPECT_TRUE(arena) << arena.error().message;
    if (!arena) return nullptr;
    auto bench = std::unique_ptr<Bench>(new Bench{*std::move(arena), nullptr});
    auto verifier = CudaVerifier::create(bench->arena, device_, *compiler_, {.seed = 5});
    EXPECT_TRUE(verifier) << verifier.error().message;
    if (!verifier) return nullptr;
    bench->verifier = *std::move(verifier);
    return bench;
  }
  // One kernel, ready to be called; null if that failed.
  std::unique_ptr<Session> session_of(DeviceArena& arena, const CompileResult& built) {
    EXPECT_TRUE(built.binary) << built.finding.detail;
    if (!built.binary) return nullptr;
    const Launch& launch = built.binary->launch;
    const Problem& problem = arena.problem();
    const std::int64_t slots = slots_bound(launch, problem, device_.cuda);
    const int sms = device_.cuda.multiprocessors;
    const auto workspace = workspace_bytes(launch, problem, sms, slots);
    const auto zeroed = zeroed_bytes(launch, problem, sms, slots);
    EXPECT_TRUE(workspace && zeroed);
    if (!workspace || !zeroed) return nullptr;
    arena.use_workspace(*workspace, *zeroed);
    auto opened = worker_->open(arena, &*built.binary, {});
    EXPECT_TRUE(opened) << opened.error().message;
    if (!opened) return nullptr;
    EXPECT_TRUE(opened->session) << opened->finding.rule << ": " << opened->finding.detail;
    return std::move(opened->session);
  }
  // Its proof, as the loop has it.
  static void prove(Verifier& verifier, Session& session, const Binary& binary, bool quick) {
    const Verdict verdict = verifier.prove(session, quick, !binary.launch.m);
    EXPECT_TRUE(verdict.finding.ok()) << name_of(verdict.finding.outcome) << ", "
                                      << verdict.finding.rule << ": " << verdict.finding.detail;
  }

  void prove(const char* family, const std::string& text, int count, bool quick) {
    const auto problem = parse_problem(text);
    ASSERT_TRUE(problem) << text;
    const auto bench = bench_for(*problem);
    ASSERT_TRUE(bench);
    for (const Candidate& candidate : candidates(family, *problem, count, 77)) {
      SCOPED_TRACE(text + "\n" + candidate.program.text());
      if (const auto session = session_of(bench->arena, candidate.built)) {
        prove(*bench->verifier, *session, *candidate.built.binary, quick);
      }
    }
  }

  // An operation that the checker's kernels do not know: the host judges a mirror of the operands.
  void prove_mirrored(const char* family, const std::string& text, int count) {
    const auto problem = parse_problem(text);
    ASSERT_TRUE(problem) << text;
    auto arena = DeviceArena::create(*context_, *problem, 2, std::int64_t{64} << 20);
    ASSERT_TRUE(arena) << arena.error().message;
    arena->use_workspace(0, 0);
    const auto mirror = OperandMirror::create(*arena);
    ASSERT_TRUE(mirror) << mirror.error().message;
    HostVerifier verifier((*mirror)->arena(), VerifyOptions{.seed = 5});
    verifier.arm();
    ASSERT_TRUE((*mirror)->upload((*mirror)->all()));
    for (const Candidate& candidate : candidates(family, *problem, count, 78)) {
      SCOPED_TRACE(text + "\n" + candidate.program.text());
      std::unique_ptr<Session> session = session_of(*arena, candidate.built);
      if (!session) continue;
      session = (*mirror)->mirrored(std::move(session));
      prove(verifier, *session, *candidate.built.binary, false);
    }
  }

  Device device_;
  ScratchFolder folder_;
  std::unique_ptr<cuda::Context> context_;
  std::unique_ptr<Compiler> compiler_;
  std::unique_ptr<CudaWorker> worker_;
};

TEST_F(CudaFamilies, Sm80) {
  for (const char* text :
       {"gemm 133x77x301 f16 nn", "gemm 200x328x456 f16 nt", "gemm 100x60x500 f16 tn",
        "gemm 64x96x2048 bf16 tt", "gemm 129x257x96 bf16 nn out=f32 alpha=any beta=any batch=3",
        "gemm 200x328x456 f16 nt acc=f16", "gemm 1x1000x513 f16 nn",
        "gemm 70x66x90 f16 nn lda=92 ldc=67"}) {
    prove("sm80", text, 10, false);
  }
}

TEST_F(CudaFamilies, Operations) {
  for (const auto& [family, text] : {std::pair{"cuda-rows", "softmax 37x333 f16"},
                                     {"cuda-rows", "softmax 64x1024 bf16 out=f32"},
                                     {"cuda-rows", "layernorm 41x520 bf16"},
                                     {"cuda-rows", "reduce 33x1000 f16 fn=sum"},
                                     {"cuda-rows", "map 50x264 f16 fn=gelu"},
                                     {"cuda-transpose", "transpose 130x77 f16"},
                                     {"sm80", "conv2d 2x9x11x16 3x3x24 f16 pad=1"},
                                     {"sm80", "conv2d 1x30x30x3 7x7x64 bf16 stride=2 pad=3"},
                                     {"sm80", "conv2d 1x14x14x64 3x3x64 f16 pad=1 out=f32"}}) {
    prove_mirrored(family, text, 8);
  }
}

TEST_F(CudaFamilies, Sm90) {
  if (device_.has("sm90a") == false) GTEST_SKIP() << "no Hopper device: " << device_.name;
  for (const char* text :
       {"gemm 200x328x456 f16 nn", "gemm 1000x1096x1544 f16 nt", "gemm 3000x2056x72 f16 nn",
        "gemm 200x328x456 f16 tn", "gemm 130x2056x1000 bf16 tt", "gemm 512x512x4096 bf16 nn",
        "gemm 200x328x456 bf16 nt out=f32 alpha=any beta=any batch=3",
        "gemm 200x328x456 f16 nn acc=f16", "gemm 2048x8192x64 f16 nn"}) {
    prove("sm90", text, 12, false);
  }
}

// Operands that are copied to aligned rows first, or gathered by threads: both, or one of them.
TEST_F(CudaFamilies, Sm90OfAnyAlignment) {
  if (device_.has("sm90a") == false) GTEST_SKIP() << "no Hopper device: " << device_.name;
  for (const char* text :
       {"gemm 133x77x301 f16 nn", "gemm 1023x1025x1027 f16 nt", "gemm 517x259x391 bf16 tt batch=2",
        "gemm 300x1002x2001 f16 tn", "gemm 200x328x456 bf16 nn lda=459 out=f32 alpha=any beta=any",
        "gemm 129x4097x65 f16 tn ldc=4104", "gemm 70x66x4099 bf16 nt batch=3"}) {
    prove("sm90", text, 12, false);
  }
}

// What a person wrote goes through the same gate.
TEST_F(CudaFamilies, TheExampleFromOutside) {
  const std::string path = TILEWRIGHT_SOURCE_DIR "/examples/tiled_gemm";
  const auto text = read_file(path + ".cu");
  const auto launch_text = read_file(path + ".launch.json");
  ASSERT_TRUE(text && launch_text);
  const auto launch = launch_from_json(*launch_text);
  ASSERT_TRUE(launch) << launch.error().message;
  const auto bench = bench_for(*parse_problem("gemm 133x77x301 f16 nn"));
  ASSERT_TRUE(bench);
  const CompileResult built = compiler_->compile(foreign_source(*text, *launch, device_));
  const auto session = session_of(bench->arena, built);
  ASSERT_TRUE(session);
  prove(*bench->verifier, *session, *built.binary, false);
}

// Little work per call, every kind of main loop and epilogue.
TEST_F(CudaFamilies, Small) {
  prove("sm80", "gemm 96x72x136 f16 nn", 8, true);
  prove("sm80", "gemm 40x88x256 bf16 nt", 8, true);
  if (!device_.has("sm90a")) return;
  prove("sm90", "gemm 136x200x264 f16 nn", 10, true);
  prove("sm90", "gemm 200x136x520 bf16 nt", 10, true);
  prove("sm90", "gemm 135x201x265 f16 nn", 10, true);
}

}  // namespace
}  // namespace tilewright
