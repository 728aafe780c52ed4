// SPDX-License-Identifier: Apache-2.0
// The Verifier against real processes: generated kernels drawn from the legal space and the plain
// baseline pass everything, proof to replay. tests/redteam has what must not pass.
#include "verify/verify.h"

#include "compile/compile.h"
#include "generate/generate.h"
#include "program/space.h"
#include "program/vocabulary.h"
#include "verify/honest.h"

#include <unistd.h>

#include <filesystem>

namespace tilewright {
namespace {

class VerifierTest : public ::testing::TestWithParam<const char*> {
 protected:
  static void SetUpTestSuite() {
    std::string name = (std::filesystem::temp_directory_path() / "tw-verify-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder = new std::filesystem::path(name);
  }
  static void TearDownTestSuite() {
    std::filesystem::remove_all(*folder);
    delete folder;
    folder = nullptr;
  }
  static std::filesystem::path* folder;
};
std::filesystem::path* VerifierTest::folder = nullptr;

TEST_P(VerifierTest, GeneratedKernelsAndTheBaselinePass) {
  const Problem p = problem_of(GetParam());
  const Device device = detect_cpu();
  CompileOptions compile;
  compile.cache_directory = *folder;
  auto compiler = Compiler::create(compile);
  ASSERT_TRUE(compiler) << compiler.error().message;
  WorkerOptions options;
  options.runner = TILEWRIGHT_BINARY_DIR "/bin/tilewright-runner";
  options.call_limit = std::chrono::milliseconds(60000);
  auto worker = Worker::start(options, device);
  ASSERT_TRUE(worker) << worker.error().message;
  Rng rng(99);
  const auto computes = [&](const Family* family) {
    return family->computes(p.op) && Space(*family, p, device).count() > 0;
  };
  const Space space(**std::ranges::find_if(families(), computes), p, device);
  for (int i = 0; i < (p.is_gemm() ? 2 : 1); ++i) {
    const auto program = space.sample(rng);
    ASSERT_TRUE(program);
    const std::string name = to_text(p) + ": " + program->text();
    const auto source = generate(*program, p, device);
    ASSERT_TRUE(source) << name << source.error().message;
    const CompileResult built = compiler->compile(*source);
    ASSERT_TRUE(built.binary) << name << built.finding.detail;
    const Launch& launch = built.binary->launch;
    const auto workspace = workspace_bytes(launch, p);
    ASSERT_TRUE(workspace) << workspace.error().message;
    auto arena = Arena::create(p, 2, *workspace);
    ASSERT_TRUE(arena) << arena.error().message;
    auto opened = worker->open(*arena, &*built.binary, {"reference"});
    ASSERT_TRUE(opened && opened->session) << name;
    Session& session = *opened->session;
    HostVerifier verifier(*arena, {.seed = 7});
    const Verdict baseline = verifier.prove_baseline(session, "reference");
    EXPECT_TRUE(baseline.finding.ok()) << baseline.finding.rule << baseline.finding.detail;
    const Verdict verdict = verifier.prove(session, false, !launch.m && !launch.n && !launch.k);
    ASSERT_TRUE(verdict.finding.ok())
        << name << ": " << verdict.finding.rule << ": " << verdict.finding.detail;
    EXPECT_TRUE(verdict.repeatable) << name;
    const Verdict quick = verifier.prove(session, true);
    EXPECT_TRUE(quick.finding.ok()) << name << quick.finding.rule << quick.finding.detail;
    verifier.arm();
    for (int round = 0; round < 2; ++round) {
      verifier.refresh();
      ASSERT_TRUE(session.reprepare().ok());
      std::vector<Burst> plan(2);
      plan[0].contestant = "candidate";
      plan[1].contestant = "reference";
      plan[0].calls = 5;
      ASSERT_TRUE(session.time(plan).finding.ok()) << name;
      const Finding finding = verifier.check_timed({0, 1});
      ASSERT_TRUE(finding.ok()) << name << ": " << finding.rule << ": " << finding.detail;
    }
    const Finding finding = verifier.replay(session);
    EXPECT_TRUE(finding.ok()) << name << ": " << finding.rule << ": " << finding.detail;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Problems, VerifierTest,
    ::testing::Values("gemm 65x97x130 f16 acc=f32 nn", "gemm 64x64x256 bf16 acc=f32 nt",
                      "gemm 33x40x129 bf16 acc=f32 tn alpha=any beta=any",
                      "gemm 31x70x64 f16 acc=f32 nt beta=one",
                      "gemm 16x33x100 bf16 acc=f32 tt out=f32 batch=3 lda=20 ldb=110 ldc=40",
                      "softmax 37x203 f16", "layernorm 30x520 bf16 ldb=530 ldc=521",
                      "reduce 300x77 f16 fn=sum", "map 20x333 bf16 fn=gelu",
                      "transpose 75x203 f16 ldc=77", "conv2d 2x9x11x24 3x3x40 f16 stride=2 pad=1"));

}  // namespace
}  // namespace tilewright
