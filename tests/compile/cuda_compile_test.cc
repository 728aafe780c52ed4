// SPDX-License-Identifier: Apache-2.0
// CUDA texts become cubins through NVRTC where there is one, and through an invented nvcc anywhere;
// what is in the cache needs neither.
#include "compile/compile.h"

#include "compile/candidates.h"
#include "compile/cuda_toolchain.h"
#include "compile/made_cubin.h"
#include "cuda_libraries.h"

#include <cstdlib>
#include <set>

namespace tilewright {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Source cuda_source(const std::string& body, const std::string& before = "") {
  Source source;
  source.language = "cuda";
  source.flags = {"--gpu-architecture=sm_90a"};
  source.text =
      "#include \"scale.h\"\n" + before +
      "\nextern \"C\" __global__ void __launch_bounds__(128) tw_kernel(float* c, int n) {\n" +
      body + "\n}\n";
  source.headers = {{"scale.h", "enum { kScale = 2 };\n"}};
  source.launch.target = "cuda";
  source.launch.threads = 128;
  return source;
}
const char* const kScaling = "  c[threadIdx.x + n] *= kScale;";

class CompileCuda : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { use_test_libraries(); }
  CompileOptions options() {
    auto with = caching_in(folder_.path() / "cache");
    with.needs = "";
    return with;
  }
  static Compiler compiler(const CompileOptions& options) {
    auto made = Compiler::create(options);
    EXPECT_TRUE(made) << made.error().message;
    return *std::move(made);
  }
  // An nvcc whose every compilation runs `body`.
  CompileOptions scripted(const std::string& body) {
    auto with = options();
    with.cuda_compiler = script(folder_.path(), "nvcc-release", body);
    return with;
  }
  // One that copies an object made by hand.
  CompileOptions quick(const MadeCubin& cubin = {}) {
    EXPECT_TRUE(write_file_atomically(folder_.path() / "made", cubin.bytes()));
    return scripted("cp '" + (folder_.path() / "made").string() +
                    "' kernel.cubin; echo \"$@\" >&2; cat include/scale.h >&2\n"
                    "echo 'ptxas info    : Used 24 registers, used 0 barriers' >&2");
  }
  ScratchFolder folder_;
};

TEST_F(CompileCuda, TheCompilerIsToldWhatTheTextNeeds) {
  auto with = compiler(quick());
  const auto made = with.compile(cuda_source(kScaling));
  ASSERT_TRUE(made.binary) << made.finding.detail;
  EXPECT_THAT(made.binary->log, HasSubstr("-cubin -std=c++20 --ptxas-options=-v "
                                          "--gpu-architecture=sm_90a -Iinclude -o kernel.cubin "
                                          "kernel.cu"));
  EXPECT_THAT(made.binary->log, HasSubstr("kScale"));
  EXPECT_EQ(made.binary->compiler, "nvcc-release 1.0");
  EXPECT_EQ(made.binary->path,
            folder_.path() / "cache/v1/cuda" / made.binary->hash / "kernel.cubin");
  EXPECT_EQ(made.binary->cubin.registers, 24);
  EXPECT_EQ(made.binary->text_bytes, 256);
  EXPECT_EQ(*with.version_for("cuda"), "nvcc-release 1.0");
}

// A cache that was filled elsewhere serves a host that has no compiler at all.
TEST_F(CompileCuda, ACachedCubinNeedsNoCompiler) {
  const auto made = compiler(quick()).compile(cuda_source(kScaling));
  ASSERT_TRUE(made.binary) << made.finding.detail;
  fs::create_directories(folder_.path() / "carried/v1");
  fs::copy(folder_.path() / "cache/v1/cuda", folder_.path() / "carried/v1/cuda",
           fs::copy_options::recursive);
  auto bare = caching_in(folder_.path() / "carried");
  bare.needs = "";
  bare.compiler = "no-such-gcc";
  bare.cuda_compiler = "no-such-nvcc";
  auto without = compiler(bare);
  const auto found = without.compile(cuda_source(kScaling));
  ASSERT_TRUE(found.binary) << found.finding.detail;
  EXPECT_TRUE(found.binary->from_cache);
  EXPECT_EQ(found.binary->hash, made.binary->hash);
  EXPECT_EQ(found.binary->compiler, "nvcc-release 1.0");
  EXPECT_EQ(found.binary->cubin, made.binary->cubin);

  for (const Source& absent : {cuda_source("  c[0] = 1;"), numbered(1)}) {
    const auto missing = without.compile(absent);
    ASSERT_FALSE(missing.binary);
    EXPECT_EQ(missing.finding.rule, "environment");
    EXPECT_THAT(missing.finding.detail, HasSubstr("no-such"));
    EXPECT_FALSE(blames_candidate(missing.finding));
  }
  EXPECT_EQ(without.version(), "");
  EXPECT_FALSE(without.version_for("cuda"));
  EXPECT_FALSE(without.version_for("fortran"));
  bare.needs = "cuda";
  const auto needed = Compiler::create(bare);
  ASSERT_FALSE(needed);
  EXPECT_EQ(needed.error().code, ErrorCode::environment);
  EXPECT_THAT(needed.error().hint, HasSubstr("nvidia-cuda-nvrtc"));
}

TEST_F(CompileCuda, EverythingThatDecidesIsInTheKey) {
  auto with = compiler(quick());
  std::vector<Source> variants(6, cuda_source(kScaling));
  variants[1].text += "\n";
  variants[2].flags = {"--gpu-architecture=sm_80"};
  variants[3].headers[0].second += "\n";
  variants[4].launch.cuda.threads = 256;
  variants[5].launch.cuda.shared_bytes = "1024";
  std::set<std::string> hashes;
  for (const auto& variant : variants) {
    const auto made = with.compile(variant);
    ASSERT_TRUE(made.binary) << made.finding.detail;
    EXPECT_FALSE(made.binary->from_cache);
    hashes.insert(made.binary->hash);
  }
  EXPECT_EQ(hashes.size(), variants.size());
}

TEST_F(CompileCuda, StateIsRefusedAndLooseIsNot) {
  MadeCubin cubin;
  cubin.sections.push_back({".nv.global", SHT_NOBITS, SHF_ALLOC | SHF_WRITE, 8});
  auto with = quick(cubin);
  EXPECT_EQ(compiler(with).compile(cuda_source(kScaling)).finding.rule, "writable-state");
  with.refuse_writable_state = false;
  EXPECT_TRUE(compiler(with).compile(cuda_source(kScaling)).binary);
  // What a loose run has cached does not pass a strict one.
  with.refuse_writable_state = true;
  EXPECT_EQ(compiler(with).compile(cuda_source(kScaling)).finding.rule, "writable-state");
}

TEST_F(CompileCuda, ACompilerThatFailsCostsOneCandidate) {
  auto hanging = scripted("sleep 60");
  hanging.limit = std::chrono::milliseconds(200);
  EXPECT_EQ(compiler(hanging).compile(cuda_source(kScaling)).finding.outcome,
            Outcome::compile_timeout);
  const auto crashed = compiler(scripted("kill -SEGV $$")).compile(cuda_source(kScaling));
  EXPECT_EQ(crashed.finding.outcome, Outcome::compile_error);
  EXPECT_THAT(crashed.finding.detail, HasSubstr("signal 11"));
  EXPECT_EQ(compiler(scripted("exit 0")).compile(cuda_source(kScaling)).finding.rule, "object");
}

// From here on with the real one.
class Nvrtc : public CompileCuda {
 protected:
  void SetUp() override {
    const auto found = find_cuda_toolchain("");
    if (!found || found->program.front().find("tilewright-nvrtc") == std::string::npos) {
      GTEST_SKIP() << "no NVRTC: scripts/bootstrap.sh build test installs it";
    }
  }
};

TEST_F(Nvrtc, CompilesForBothGenerations) {
  auto with = compiler(options());
  EXPECT_THAT(*with.version_for("cuda"), StartsWith("NVRTC 1"));
  for (const char* flag : {"--gpu-architecture=sm_80", "--gpu-architecture=sm_90a"}) {
    auto source = cuda_source(std::string("  __shared__ float s[64]; s[threadIdx.x & 63] = c[n];\n"
                                          "  __syncthreads(); c[threadIdx.x] = s[n & 63];\n") +
                              kScaling);
    source.flags = {flag};
    const auto made = with.compile(source);
    ASSERT_TRUE(made.binary) << made.finding.detail;
    EXPECT_GT(made.binary->cubin.registers, 4) << made.binary->log;
    EXPECT_EQ(made.binary->cubin.static_shared, 256) << made.binary->log;
    EXPECT_EQ(made.binary->cubin.spill_stores, 0);
    EXPECT_GT(made.binary->text_bytes, 0);
    const auto again = compiler(options()).compile(source);
    ASSERT_TRUE(again.binary);
    EXPECT_TRUE(again.binary->from_cache);
    EXPECT_EQ(again.binary->cubin, made.binary->cubin);
    EXPECT_EQ(again.binary->text_bytes, made.binary->text_bytes);
  }
}

TEST_F(Nvrtc, SpillsAndAdviceAreSeen) {
  auto with = compiler(options());
  const auto spilling = with.compile(cuda_source(R"(
  float a[512];
#pragma unroll
  for (int i = 0; i < 512; ++i) a[i] = c[i * n + threadIdx.x];
  for (int j = 0; j < n; ++j) {
#pragma unroll
    for (int i = 0; i < 512; ++i) a[i] = a[i] * a[(i * 37 + 1) % 512] + c[j];
  }
#pragma unroll
  for (int i = 0; i < 512; ++i) c[i * n + threadIdx.x] = a[i];)"));
  ASSERT_TRUE(spilling.binary) << spilling.finding.detail;
  EXPECT_GT(spilling.binary->cubin.spill_stores, 0) << spilling.binary->log;
  auto unlimited = cuda_source("  asm volatile(\"setmaxnreg.dec.sync.aligned.u32 24;\\n\");");
  const std::string bounds = "__launch_bounds__(128) ";
  unlimited.text.erase(unlimited.text.find(bounds), bounds.size());
  const auto ignored = with.compile(unlimited);
  ASSERT_TRUE(ignored.binary) << ignored.finding.detail;
  EXPECT_TRUE(ignored.binary->cubin.setmaxnreg_ignored) << ignored.binary->log;
  EXPECT_THAT(ignored.binary->cubin.warnings, ::testing::Contains(HasSubstr("C7508")));
}

TEST_F(Nvrtc, WhatIsWrongWithATextIsSaid) {
  auto with = compiler(options());
  struct Case {
    std::string body, before, rule, detail;
  };
  for (const Case& c :
       {Case{"  c[0] = nonsense;", "", "compiler", "nonsense"},
        {"  c[n] += counter++;", "__device__ int counter;", "writable-state", "counter"},
        {"  c[n] += counter++;", "__device__ int counter = 3;", "writable-state", "nv.global.init"},
        {"  c[n] = table[n];", "__constant__ float table[4];", "", ""},
        {"  c[0] = kTable[n];", "constexpr float kTable[] = {1, 2, 3};", "writable-state",
         "(kTable); constants are no state as enums"},
        {"  printf(\"%d\", n);", "", "writable-state", "nv.global"},
        {"  c[0] = *(float*)malloc(4);", "", "imports", "malloc"}}) {
    const auto made = with.compile(cuda_source(c.body, c.before));
    EXPECT_EQ(made.finding.rule, c.rule) << c.body << made.finding.detail;
    EXPECT_THAT(made.finding.detail, HasSubstr(c.detail));
    EXPECT_EQ(made.binary.has_value(), c.rule.empty());
  }
  auto renamed = cuda_source(kScaling);
  renamed.launch.symbol = "other";
  EXPECT_EQ(with.compile(renamed).finding.rule, "no-symbol");
  auto unknown = cuda_source(kScaling);
  unknown.flags = {"--gpu-architecture=sm_12"};
  EXPECT_THAT(with.compile(unknown).finding.detail, HasSubstr("--gpu-architecture"));
  // PTX alone is no cubin: it would be compiled again by whatever driver is there.
  unknown.flags = {"--gpu-architecture=compute_90a"};
  EXPECT_THAT(with.compile(unknown).finding.detail, HasSubstr("no cubin"));
}

}  // namespace
}  // namespace tilewright
