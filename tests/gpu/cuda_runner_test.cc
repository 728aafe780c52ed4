// SPDX-License-Identifier: Apache-2.0
// The CUDA runner on a device: kernels of a few lines, compiled as a candidate is. What needs no
// device of this is in tests/fakecuda.
#include "base/element.h"
#include "base/rng.h"
#include "compile/compile.h"
#include "device/cuda/detect.h"
#include "execute/cuda/cuda_worker.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <optional>

namespace tilewright {
namespace {

using ::testing::HasSubstr;

// bf16 in, f32 out, nn. The arguments are those of launch_of().
constexpr const char* kHead = R"(
extern "C" __global__ void tw_kernel(const unsigned short* a, const unsigned short* b, float* c,
                                     unsigned* workspace, float alpha, float beta, int m, int n,
                                     int k, long long lda, long long ldb, long long ldc, int slots) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y;
)";
constexpr const char* kPlain = R"(
  if (i >= m || j >= n) return;
  float sum = 0;
  for (int l = 0; l < k; ++l) {
    sum += __uint_as_float(unsigned(a[i * lda + l]) << 16) *
           __uint_as_float(unsigned(b[l * ldb + j]) << 16);
  }
  float* const to = &c[i * ldc + j];
  *to = alpha * sum + (beta == 0 ? 0.0f : beta * *to);
})";
constexpr const char* kHang = "  while (*(volatile const unsigned short*)a != 0x7fffu) {}\n}";
constexpr const char* kStray = "  c[(1LL << 44) + j] = 1;\n}";
constexpr const char* kMisaligned = "  *(float*)((char*)c + 1 + 8 * j) = 1;\n}";
constexpr const char* kTrap = "  __trap();\n}";
constexpr const char* kCluster = R"(
  unsigned size, rank;
  asm volatile("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(size));
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  if (threadIdx.x == 0) c[blockIdx.x] = 1000 * size + 100 * rank + (slots % size == 0 ? 1 : 0);
})";
// Copies a 64 x 64 corner of A to C through a tensor map.
constexpr const char* kTensorMap = R"(
struct alignas(64) Map { unsigned long long words[16]; };
extern "C" __global__ void tw_kernel(const __grid_constant__ Map map, float* c, int m, int k,
                                     long long ldc) {
  __shared__ alignas(128) unsigned short tile[64 * 64];
  __shared__ alignas(8) unsigned long long barrier;
  const unsigned to = (unsigned)__cvta_generic_to_shared(tile);
  const unsigned bar = (unsigned)__cvta_generic_to_shared(&barrier);
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(bar) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(8192)
                 : "memory");
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], "
        "[%1, {%2, %3, %4}], [%5];" ::"r"(to), "l"(&map), "r"(0), "r"(0), "r"(0), "r"(bar)
        : "memory");
  }
  __syncthreads();
  unsigned done = 0;
  while (done == 0) {
    asm volatile(
        "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; "
        "}" : "=r"(done) : "r"(bar) : "memory");
  }
  for (int i = 0; i < 64; ++i) {
    const int j = threadIdx.x;  // out of bounds the tile holds zeros
    if (i < 64 && j < 64) c[i * ldc + j] = __uint_as_float(unsigned(tile[i * 64 + j]) << 16);
  }
})";

Problem problem_of(std::int64_t m, std::int64_t n, std::int64_t k) {
  Problem problem;
  problem.m = m;
  problem.n = n;
  problem.k = k;
  problem.in = ElementType::bf16;
  problem.out = ElementType::f32;
  return problem;
}

Launch launch_of() {
  Launch launch;
  launch.target = "cuda";
  launch.cuda.grid = {"cdiv(N,128)", "M", "1"};
  launch.cuda.arguments = {"a",     "b",     "c",       "workspace", "alpha",   "beta",     "i32:M",
                           "i32:N", "i32:K", "i64:lda", "i64:ldb",   "i64:ldc", "i32:slots"};
  return launch;
}

class CudaRunnerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto context = cuda::Context::open(0);
    if (!context) GTEST_SKIP() << "no CUDA device: " << context.error().message;
    context_.emplace(std::move(*context));
    auto device = detect_cuda(0);
    ASSERT_TRUE(device) << device.error().message;
    device_ = *device;
    CompileOptions options;
    options.needs = "cuda";
    std::string name = (std::filesystem::temp_directory_path() / "tw-gpu-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    options.cache_directory = folder_;
    auto compiler = Compiler::create(options);
    if (!compiler) GTEST_SKIP() << "no CUDA compiler: " << compiler.error().message;
    compiler_.emplace(std::move(*compiler));
    auto worker = CudaWorker::start({}, device_);
    ASSERT_TRUE(worker) << worker.error().message;
    worker_.emplace(std::move(*worker));
    make_arena(problem_of(96, 160, 64), 3);
  }
  void TearDown() override {
    worker_.reset();
    arena_.reset();
    compiler_.reset();
    std::error_code ignored;
    if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
  }

  void make_arena(const Problem& problem, int sets) {
    arena_.reset();
    auto arena = DeviceArena::create(*context_, problem, sets, 1 << 16);
    ASSERT_TRUE(arena) << arena.error().message;
    arena_.emplace(std::move(*arena));
    const auto fill = [&](cuda::Pointer to, std::int64_t elements, std::uint64_t seed) {
      Rng rng(seed);
      std::vector<std::uint16_t> values(static_cast<std::size_t>(elements));
      for (auto& value : values) value = f64_to_bf16(static_cast<double>(rng.below(5)) - 2);
      ASSERT_EQ(context_->driver().MemcpyHtoD(to, values.data(), values.size() * 2), 0);
    };
    for (int set = 0; set < sets; ++set) {
      fill(arena_->a(set), problem.m * problem.k, static_cast<std::uint64_t>(set) * 2);
      fill(arena_->b(set), problem.k * problem.n, static_cast<std::uint64_t>(set) * 2 + 1);
    }
    ASSERT_TRUE(context_->synchronize());
  }

  std::optional<Binary> compile(const std::string& text, const Launch& launch) {
    Source source;
    source.text = text;
    source.language = "cuda";
    source.flags = {fmt::format("--gpu-architecture=sm_{}{}", device_.cuda.capability,
                                device_.cuda.capability == 90 ? "a" : "")};
    source.launch = launch;
    auto compiled = compiler_->compile(source);
    EXPECT_TRUE(compiled.binary) << compiled.finding.rule << ": " << compiled.finding.detail;
    return compiled.binary;
  }
  Opened open(const std::string& text, const Launch& launch = launch_of(),
              const std::vector<std::string>& baselines = {}) {
    const auto binary = compile(text, launch);
    if (!binary) return {};
    auto opened = worker_->open(*arena_, &*binary, baselines);
    EXPECT_TRUE(opened) << opened.error().message << " " << opened.error().hint;
    return opened ? std::move(*opened) : Opened{};
  }
  std::vector<float> c_of(int set, Owner owner = Owner::candidate) {
    const Problem& p = arena_->problem();
    std::vector<float> values(static_cast<std::size_t>(p.m * p.n));
    EXPECT_EQ(context_->driver().MemcpyDtoH(values.data(), arena_->c(set, owner),
                                            values.size() * sizeof(float)),
              0);
    return values;
  }
  std::vector<float> bf16_at(cuda::Pointer from, std::int64_t elements) {
    std::vector<std::uint16_t> bits(static_cast<std::size_t>(elements));
    EXPECT_EQ(context_->driver().MemcpyDtoH(bits.data(), from, bits.size() * 2), 0);
    std::vector<float> values;
    for (const auto b : bits) values.push_back(bf16_to_f32(b));
    return values;
  }
  // Small integers: exact in f32.
  std::vector<float> expected(int set) {
    const Problem& p = arena_->problem();
    const auto a = bf16_at(arena_->a(set), p.m * p.k), b = bf16_at(arena_->b(set), p.k * p.n);
    std::vector<float> c(static_cast<std::size_t>(p.m * p.n));
    for (std::int64_t i = 0; i < p.m; ++i) {
      for (std::int64_t l = 0; l < p.k; ++l) {
        for (std::int64_t j = 0; j < p.n; ++j) {
          c[static_cast<std::size_t>(i * p.n + j)] +=
              a[static_cast<std::size_t>(i * p.k + l)] * b[static_cast<std::size_t>(l * p.n + j)];
        }
      }
    }
    return c;
  }
  // A plain kernel gives right results: the runner is alive and well.
  void expect_works() {
    const Opened opened = open(std::string(kHead) + kPlain);
    ASSERT_NE(opened.session, nullptr) << opened.finding.rule << opened.finding.detail;
    const Finding called = opened.session->call("candidate", 1);
    EXPECT_TRUE(called.ok()) << called.rule << called.detail;
    EXPECT_EQ(c_of(1), expected(1));
  }
  void expect_fault(const char* body, Outcome outcome, const char* rule) {
    const Opened opened = open(std::string(kHead) + body);
    ASSERT_NE(opened.session, nullptr) << opened.finding.rule << opened.finding.detail;
    const Finding finding = opened.session->call("candidate", 0);
    EXPECT_EQ(finding.outcome, outcome) << finding.detail;
    EXPECT_EQ(finding.rule, rule) << finding.detail;
  }

  std::filesystem::path folder_;
  std::optional<cuda::Context> context_;
  Device device_;
  std::optional<Compiler> compiler_;
  std::optional<DeviceArena> arena_;
  std::optional<CudaWorker> worker_;
};

TEST_F(CudaRunnerTest, APlainKernelIsRightOnEverySet) {
  const Opened opened = open(std::string(kHead) + kPlain);
  ASSERT_NE(opened.session, nullptr) << opened.finding.rule << opened.finding.detail;
  for (int set = 0; set < 3; ++set) {
    EXPECT_TRUE(opened.session->call("candidate", set).ok());
    EXPECT_EQ(c_of(set), expected(set));
  }
  EXPECT_TRUE(opened.session->call("candidate", 0, 2, 1).ok());
  EXPECT_EQ(c_of(0)[5], 3 * expected(0)[5]);
  EXPECT_TRUE(opened.session->call_sizes(95, 159, 63).ok());
}

TEST_F(CudaRunnerTest, EveryModeOfTimingGivesSamples) {
  const Opened opened = open(std::string(kHead) + kPlain);
  ASSERT_NE(opened.session, nullptr);
  Burst graph{"candidate", 200};
  Burst each{"candidate", 6, 1, true, 100};  // by turns, so three samples
  Burst wall{"candidate", 20};
  wall.wall = true;
  const TimingReply timing = opened.session->time({graph, each, wall, {"candidate", 7, 2}});
  ASSERT_TRUE(timing.finding.ok()) << timing.finding.rule << timing.finding.detail;
  ASSERT_EQ(timing.samples.size(), 6U);
  for (const Sample& sample : timing.samples) {
    EXPECT_GT(sample.seconds, 1e-7);
    EXPECT_LT(sample.seconds, 0.1);
    // What the host does is in the latency, and not in the device's time.
    if (sample.burst == 1) {
      EXPECT_GT(sample.latency, sample.seconds);
    }
  }
  EXPECT_LE(timing.claimed_seconds, timing.wall_seconds + 1e-3);
  for (int set = 0; set < 3; ++set) EXPECT_EQ(c_of(set), expected(set));
}

TEST_F(CudaRunnerTest, AHangIsKilledAndTheNextCandidateWorks) {
  expect_fault(kHang, Outcome::run_timeout, "call-limit");
  expect_works();
  EXPECT_EQ(worker_->restarts(), 1);
}

TEST_F(CudaRunnerTest, FaultsAreNamedAndTheNextCandidateWorks) {
  expect_fault(kStray, Outcome::crash, "illegal-address");
  expect_works();
  expect_fault(kMisaligned, Outcome::crash, "cuda:CUDA_ERROR_MISALIGNED_ADDRESS");
  expect_fault(kTrap, Outcome::crash, "cuda:CUDA_ERROR_LAUNCH_FAILED");
  expect_works();
  EXPECT_EQ(worker_->restarts(), 3);
}

TEST_F(CudaRunnerTest, WhatCannotBeLaunchedIsALaunchError) {
  Launch wide = launch_of();
  wide.cuda.grid[2] = "65536";
  Launch shared = launch_of();
  shared.cuda.shared_bytes = "1048576";
  for (const Launch& launch : {wide, shared}) {
    const Opened opened = open(std::string(kHead) + kPlain, launch);
    EXPECT_EQ(opened.session, nullptr);
    EXPECT_EQ(opened.finding.outcome, Outcome::launch_error) << opened.finding.detail;
  }
  expect_works();
  EXPECT_EQ(worker_->restarts(), 0);
}

TEST_F(CudaRunnerTest, ClustersAreLaunchedAndSlotsAreWholeClusters) {
  if (device_.cuda.capability < 90) GTEST_SKIP() << "clusters need compute capability 9.0";
  for (const int size : {2, 8, 16}) {
    Launch launch = launch_of();
    launch.cuda.cluster = {size, 1, 1};
    launch.cuda.grid = {"roundup(cdiv(N,128)," + std::to_string(size) + ")", "1", "1"};
    const Opened opened = open(std::string(kHead) + kCluster, launch);
    ASSERT_NE(opened.session, nullptr) << opened.finding.rule << opened.finding.detail;
    const Finding called = opened.session->call("candidate", 0);
    ASSERT_TRUE(called.ok()) << called.rule << called.detail;
    EXPECT_EQ(c_of(0)[1], static_cast<float>(1000 * size + 100 + 1));
  }
}

TEST_F(CudaRunnerTest, TensorMapsAreWhatTheDescriptionSays) {
  if (device_.cuda.capability < 90) GTEST_SKIP() << "tensor maps need compute capability 9.0";
  Launch launch;
  launch.target = "cuda";
  launch.cuda.threads = 64;
  launch.cuda.maps = {{'a', 64, 64, 0, 128}};
  launch.cuda.arguments = {"map0", "c", "i32:M", "i32:K", "i64:ldc"};
  const Opened opened = open(kTensorMap, launch);
  ASSERT_NE(opened.session, nullptr) << opened.finding.rule << opened.finding.detail;
  const Problem& p = arena_->problem();
  const auto a = bf16_at(arena_->a(0), p.m * p.k);
  for (const auto& [m, k] : {std::pair{p.m, p.k}, std::pair<std::int64_t, std::int64_t>{61, 57}}) {
    const Finding called = opened.session->call_sizes(m, p.n, k);
    ASSERT_TRUE(called.ok()) << called.rule << called.detail;
    const auto c = c_of(0);
    for (std::int64_t i = 0; i < 64; ++i) {
      for (std::int64_t j = 0; j < 64; ++j) {
        const float want = i < m && j < k ? a[static_cast<std::size_t>(i * p.k + j)] : 0;
        ASSERT_EQ(c[static_cast<std::size_t>(i * p.n + j)], want) << i << ", " << j;
      }
    }
  }
}

TEST_F(CudaRunnerTest, BaselinesRunBesideACandidate) {
  make_arena(problem_of(256, 256, 128), 2);
  const auto binary = compile(std::string(kHead) + kPlain, launch_of());
  ASSERT_TRUE(binary);
  auto opened = worker_->open(*arena_, &*binary, {"cublas", "cublaslt_heuristic"});
  if (!opened) GTEST_SKIP() << opened.error().message;
  ASSERT_NE(opened->session, nullptr);
  EXPECT_EQ(opened->choices.size(), 2U);
  for (const char* name : {"cublas", "cublaslt_heuristic"}) {
    const Finding called = opened->session->call(name, 1);
    EXPECT_TRUE(called.ok()) << called.rule << called.detail;
    EXPECT_EQ(c_of(1, Owner::baseline), expected(1)) << name;
  }
  const TimingReply timing =
      opened->session->time({{"cublas", 100}, {"candidate", 3, 1}, {"cublaslt_heuristic", 10, 1}});
  EXPECT_TRUE(timing.finding.ok()) << timing.finding.rule << timing.finding.detail;
  EXPECT_EQ(timing.samples.size(), 3U);
}

}  // namespace
}  // namespace tilewright
