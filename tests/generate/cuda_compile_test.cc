// SPDX-License-Identifier: Apache-2.0
// Programs that cover the CUDA families become the machine code that they stand for: no state, no
// spills beyond what large tiles are known for, wgmma not serialised, and the units in use that the
// decisions name. Needs NVRTC; what reads machine code also needs nvdisasm. Neither needs a device.
#include "base/scratch_folder.h"
#include "compile/compile.h"
#include "compile/cuda_toolchain.h"
#include "cuda_libraries.h"
#include "generate/cuda_cover.h"
#include "generate/generate.h"
#include "generate/machine_code.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <optional>
#include <thread>

namespace tilewright {
namespace {

constexpr std::size_t kCandidates = 60;
constexpr std::uint64_t kSeed = 3;
// NVRTC runs in a process of its own, so a sanitized build learns little from it: a few.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::size_t kCompiled = 10;
#else
constexpr std::size_t kCompiled = kCandidates;
#endif

TEST(CudaCover, TakesEveryValueOfEveryDecision) {
  const auto candidates = covering_candidates(kCandidates, kSeed);
  for (const std::string& token : uncovered(candidates)) ADD_FAILURE() << token;
  for (const Candidate& candidate : candidates) {
    const auto refused = refusals(candidate.program, candidate.problem, candidate.device);
    EXPECT_TRUE(refused.empty()) << candidate.text() << ": " << refused.front().reason;
  }
}

struct Made {
  Source source;
  CompileResult result;
  std::optional<MachineCode> code;
};

// Everything, by as many threads as there are cores.
std::vector<Made> compile_all(const std::vector<Candidate>& candidates, Compiler& compiler,
                              const std::optional<std::string>& nvdisasm) {
  std::vector<Made> made(candidates.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < candidates.size(); i = next++) {
      const Candidate& candidate = candidates[i];
      auto source = generate(candidate.program, candidate.problem, candidate.device);
      if (!source) continue;  // no binary, as after a failed compilation
      made[i].source = *std::move(source);
      made[i].result = compiler.compile(made[i].source);
      if (made[i].result.binary && nvdisasm) {
        made[i].code = disassemble(*nvdisasm, made[i].result.binary->path);
      }
    }
  };
  std::vector<std::jthread> threads;
  const unsigned count = std::clamp(std::thread::hardware_concurrency(), 1U, 8U);
  for (unsigned i = 0; i < count; ++i) threads.emplace_back(work);
  threads.clear();
  return made;
}

// Accumulators of a thread.
std::int64_t sums_of(const Program& p) {
  const std::int64_t m = p.number("tile_m"), n = p.number("tile_n");
  if (p.family().name == "sm90") {
    const bool shares = p.word("schedule") == "cooperative" || p.word("schedule") == "gather";
    const std::int64_t shared = shares ? p.number("consumers") : 1;
    return m / 64 / shared * n / 2;
  }
  return p.word("form") == "direct" ? m * n / 32
                                    : m / p.number("warps_m") * (n / p.number("warps_n")) / 32;
}

// Bytes that may be spilled: legality keeps to what has none or few, and these are where the few
// are. On sm90 they are sizes and coordinates, outside the loop over K.
int spills_allowed(const Candidate& candidate) {
  const Program& p = candidate.program;
  const std::int64_t sums = sums_of(p);
  if (p.family().name == "sm90") {
    // f16 sums are widened beside what reduce=spread loads.
    const bool widens = candidate.problem.acc == Accumulator::f16 && p.word("reduce") == "spread";
    return sums >= 80 || p.word("schedule") == "pingpong" ? widens ? 384 : 256 : 0;
  }
  if (sums >= 64 || p.number("warps_k") >= 8 || p.word("form") == "direct") return 128;
  // A few of the 128 that each of 512 threads has; more where their sums leave by reduce=spread.
  const bool many = p.number("warps_m") * p.number("warps_n") * p.number("warps_k") > 8;
  return !many ? 0 : p.word("reduce") == "spread" ? 128 : 16;
}

void check_facts(const Candidate& candidate, const Made& made) {
  const CubinFacts& facts = made.result.binary->cubin;
  const int threads = made.source.launch.cuda.threads;
  EXPECT_GT(facts.registers, 16);
  EXPECT_LE(facts.registers, std::min(255, 65536 / threads / 8 * 8));
  EXPECT_EQ(facts.static_shared, 0);
  EXPECT_FALSE(facts.wgmma_serialized);
  EXPECT_FALSE(facts.setmaxnreg_ignored);
  EXPECT_LE(facts.spill_stores, spills_allowed(candidate));
  EXPECT_TRUE(facts.spill_stores > 0 || facts.stack_bytes == 0) << facts.stack_bytes;
  // Seconds depend on the machine; the text that takes them does not.
  EXPECT_LE(made.result.binary->text_bytes, 192 << 10);
}

void check_sm80(const Candidate& candidate, const MachineCode& code) {
  const CudaAlignment aligned = alignment_of(candidate.problem);
  const bool tiled = candidate.program.word("form") == "tile";
  const char* const sums = candidate.problem.acc == Accumulator::f16 ? "16816.F16" : "16816.F32";
  EXPECT_GT(code.count("HMMA", sums), 0);
  EXPECT_EQ(code.count("HMMA"), code.count("HMMA", sums));
  EXPECT_EQ(code.count("LDSM") > 0, tiled);
  EXPECT_EQ(code.count("LDGSTS") > 0, tiled && (aligned.a > 1 || aligned.b > 1));
  EXPECT_EQ(code.count("LDGSTS", "128") > 0, tiled && (aligned.a == 8 || aligned.b == 8));
  if (tiled) {  // an operand that is stored across K is transposed by ldmatrix
    const bool across = candidate.problem.a_transposed || !candidate.problem.b_transposed;
    EXPECT_EQ(code.count("LDSM", ".MT88") > 0, across);
  }
}

void check_sm90(const Candidate& candidate, const Made& made, const MachineCode& code) {
  const Program& p = candidate.program;
  const char* const sums = candidate.problem.acc == Accumulator::f16 ? ".F16" : ".F32";
  const std::string shape = "64x" + std::string(p.word("tile_n")) + "x16";
  EXPECT_GT(code.count("HGMMA", shape), 0);
  EXPECT_EQ(code.count("HGMMA"), code.count("HGMMA", shape));
  EXPECT_EQ(code.count("HGMMA"), code.count("HGMMA", sums));
  const CudaAlignment aligned = alignment_of(candidate.problem);
  const bool gathers = p.word("schedule") == "gather";
  const bool packs = !gathers && (aligned.a < 8 || aligned.b < 8);  // by 16-byte loads
  EXPECT_EQ(code.count("UTMALDG", "3D") > 0, !gathers || aligned.a == 8 || aligned.b == 8);
  const auto loose = [](int vector) { return vector > 1 && vector < 8; };
  EXPECT_EQ(code.count("LDGSTS") > 0, gathers && (loose(aligned.a) || loose(aligned.b)));
  const bool through_l2 =
      p.word("reduce") == "workspace" || p.word("reduce") == "spread" || p.word("grid") == "stream";
  EXPECT_EQ(code.count("LDG", "128") > 0,
            packs || (gathers && (aligned.a == 1 || aligned.b == 1)) || through_l2);
  const std::string_view cluster = p.word("cluster");
  const bool multicast = !cluster.empty() && cluster != "1x1";
  EXPECT_EQ(code.count("UTMALDG", "MULTICAST") > 0, multicast);
  const bool tma = cuda_family::stores_by_map(p.word("epilogue"));
  EXPECT_EQ(code.count("UTMASTG") > 0, tma);
  EXPECT_EQ(code.count("STSM") > 0, tma || p.word("epilogue") == "shared");
  // A whole warpgroup beyond those that multiply is there to copy, or to give its registers away.
  const int threads = made.source.launch.cuda.threads;
  bool gives = p.word("schedule") != "single" && threads % 128 == 0;
  if (gathers) {
    constexpr std::array<std::int64_t, 3> kKept = {192, 104, 64};
    gives = sums_of(p) > kKept[static_cast<std::size_t>(p.number("consumers") - 1)];
  }
  EXPECT_EQ(code.count("USETMAXREG"), gives ? 2 : 0);
  EXPECT_EQ(code.count("UCGABAR_ARV") > 0, multicast || p.word("reduce") == "cluster");
}

TEST(CudaCompile, CoveringProgramsAreTheMachineCodeTheyStandFor) {
  use_test_libraries();
  const auto toolchain = find_cuda_toolchain("");
  if (!toolchain) GTEST_SKIP() << "no NVRTC: scripts/bootstrap.sh build test installs it";
  ScratchFolder folder;
  CompileOptions options;
  options.needs = "cuda";
  options.cache_directory = folder.path();
  auto compiler = Compiler::create(options);
  ASSERT_TRUE(compiler) << compiler.error().message;
  const auto nvdisasm = find_nvdisasm();
  const auto candidates = covering_candidates(kCompiled, kSeed);
  const auto made = compile_all(candidates, *compiler, nvdisasm);
  for (std::size_t i = 0; i < made.size(); ++i) {
    SCOPED_TRACE(candidates[i].text());
    ASSERT_TRUE(made[i].result.binary)
        << made[i].result.finding.rule << ": " << made[i].result.finding.detail;
    check_facts(candidates[i], made[i]);
    if (!nvdisasm) continue;
    ASSERT_TRUE(made[i].code && !made[i].code->empty()) << *nvdisasm;
    const MachineCode& code = *made[i].code;
    const bool spills = made[i].result.binary->cubin.spill_stores > 0;
    EXPECT_EQ(code.count("STL") > 0, spills);
    EXPECT_TRUE(spills || code.count("LDL") == 0);
    if (candidates[i].program.family().name == "sm80") {
      check_sm80(candidates[i], code);
    } else {
      check_sm90(candidates[i], made[i], code);
    }
  }
  if (!nvdisasm && !HasFailure()) {
    GTEST_SKIP() << "compiled, but no nvdisasm: scripts/bootstrap.sh build test installs it";
  }
}

}  // namespace
}  // namespace tilewright
