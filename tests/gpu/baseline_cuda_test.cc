// SPDX-License-Identifier: Apache-2.0
// The CUDA baselines on a device: right on ragged shapes, the stronger never slower than the
// weaker, searched once, and not rigged. Skips without a device or without the libraries.
#include "baseline/cuda/cuda_baseline.h"
#include "baseline/cuda/cuda_self_check.h"
#include "launch/cuda/graph_timer.h"

#include "base/element.h"
#include "base/rng.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <optional>

namespace tilewright {
namespace {

using testing::HasSubstr;

constexpr std::array<std::string_view, 4> kNames = {"cublas", "cublaslt_heuristic",
                                                    "cublaslt_autotune", "cublaslt_neighbours"};

// Operands of one set, on the host and on the device.
struct Operands {
  std::vector<std::byte> a, b, c;
  cuda::Buffer device_a, device_b, device_c;
  CudaGemm gemm;
};

std::size_t offset(std::int64_t elements, ElementType type) {
  return static_cast<std::size_t>(elements) * size_of(type);
}

class CudaBaselineTest : public testing::Test {
 protected:
  void SetUp() override {
    auto context = cuda::Context::open(0);
    if (!context) GTEST_SKIP() << context.error().message;
    context_.emplace(std::move(*context));
    auto libraries = CudaLibraries::open(*context_);
    if (!libraries) GTEST_SKIP() << libraries.error().message;
    libraries_.emplace(std::move(*libraries));
    ASSERT_TRUE(driver().check(driver().StreamCreate(&stream_, 1), "stream"));
  }
  void TearDown() override {
    if (stream_ != nullptr) driver().StreamDestroy(stream_);
  }
  const cuda::Driver& driver() const { return context_->driver(); }

  Operands make(const Problem& p, std::uint64_t seed) {
    Operands o;
    Rng rng(seed);
    const auto fill = [&](std::int64_t elements, ElementType type, cuda::Buffer& on_device) {
      std::vector<std::byte> host(offset(elements, type));
      for (std::int64_t i = 0; i < elements; ++i) store(type, host.data(), i, rng.normal());
      auto buffer = cuda::Buffer::allocate(*context_, host.size());
      EXPECT_TRUE(buffer);
      on_device = std::move(*buffer);
      EXPECT_EQ(driver().MemcpyHtoD(on_device.address(), host.data(), host.size()), 0);
      EXPECT_TRUE(context_->synchronize());  // other streams do not wait for a copy to land
      return host;
    };
    o.gemm = {.m = p.m,
              .n = p.n,
              .k = p.k,
              .lda = p.a_stride(),
              .ldb = p.b_stride(),
              .ldc = p.c_stride(),
              .batch = p.batch,
              .stride_a = p.a_rows() * p.a_stride(),
              .stride_b = p.b_rows() * p.b_stride(),
              .stride_c = p.m * p.c_stride()};
    o.a = fill(p.batch * o.gemm.stride_a, p.in, o.device_a);
    o.b = fill(p.batch * o.gemm.stride_b, p.in, o.device_b);
    o.c = fill(p.batch * o.gemm.stride_c, p.out, o.device_c);
    o.gemm.a = o.device_a.address();
    o.gemm.b = o.device_b.address();
    o.gemm.c = o.device_c.address();
    o.gemm.alpha = p.alpha == AlphaClass::one ? 1.0F : 1.5F;
    o.gemm.beta = p.beta == BetaClass::zero ? 0.0F : p.beta == BetaClass::one ? 1.0F : 0.5F;
    return o;
  }

  // The largest error over what rounding and summation allow, of every element and the row gaps.
  double worst(const Problem& p, const Operands& o) {
    std::vector<std::byte> got(o.c.size());
    EXPECT_EQ(driver().MemcpyDtoH(got.data(), o.gemm.c, got.size()), 0);
    const double sum_unit = p.acc == Accumulator::f16 ? std::ldexp(1, -10) : std::ldexp(1, -22);
    double largest = 0;
    for (std::int64_t z = 0; z < p.batch; ++z) {
      for (std::int64_t i = 0; i < p.m; ++i) {
        for (std::int64_t j = 0; j < p.c_stride(); ++j) {
          const std::int64_t at = z * o.gemm.stride_c + i * p.c_stride() + j;
          const double before = load(p.out, o.c.data(), at), now = load(p.out, got.data(), at);
          if (j >= p.n) {
            if (now != before) return HUGE_VAL;  // a gap was written
            continue;
          }
          double sum = 0, magnitude = std::abs(double{o.gemm.beta} * before);
          for (std::int64_t l = 0; l < p.k; ++l) {
            const double term =
                load(p.in, o.a.data(),
                     z * o.gemm.stride_a +
                         (p.a_transposed ? l * p.a_stride() + i : i * p.a_stride() + l)) *
                load(p.in, o.b.data(),
                     z * o.gemm.stride_b +
                         (p.b_transposed ? j * p.b_stride() + l : l * p.b_stride() + j));
            sum += term;
            magnitude += std::abs(double{o.gemm.alpha} * term);
          }
          const double want = double{o.gemm.alpha} * sum + double{o.gemm.beta} * before;
          const double allowed = unit_roundoff(p.out) * std::abs(want) +
                                 static_cast<double>(p.k) * sum_unit * magnitude + 1e-7;
          const double error = std::abs(now - want) / allowed;
          if (!(error <= largest)) largest = std::isnan(error) ? HUGE_VAL : error;
        }
      }
    }
    return largest;
  }

  void reset_c(const Operands& o) {
    ASSERT_EQ(driver().MemcpyHtoD(o.gemm.c, o.c.data(), o.c.size()), 0);
    ASSERT_TRUE(context_->synchronize());
  }

  std::optional<cuda::Context> context_;
  std::optional<CudaLibraries> libraries_;
  cuda::Stream stream_ = nullptr;
};

TEST_F(CudaBaselineTest, AreRightOnRaggedShapes) {
  libraries_->set_budgets({.autotune_seconds = 0.01, .neighbours_seconds = 0.02});
  for (const std::string_view text :
       {"gemm 128x96x64 f16", "gemm 65x33x129 f16", "gemm 1x1x1 bf16", "gemm 64x72x200 f16 tn",
        "gemm 40x24x520 bf16 nt out=f32", "gemm 33x64x48 f16 tt lda=48 ldb=56 ldc=72",
        "gemm 48x40x64 f16 batch=3", "gemm 31x17x70 bf16 batch=2 alpha=any beta=any",
        "gemm 64x64x96 f16 acc=f16", "gemm 64x64x2048 f16 beta=one out=f32"}) {
    const Problem p = parse_problem(text).value();
    const Operands o = make(p, 5);
    for (const std::string_view name : kNames) {
      auto baseline = libraries_->make(name, p);
      ASSERT_TRUE(baseline) << baseline.error().message;
      const Status prepared = (*baseline)->prepare({&o.gemm, 1});
      ASSERT_TRUE(prepared) << name << " " << text << ": " << prepared.error().message;
      reset_c(o);
      const Status enqueued = (*baseline)->enqueue(o.gemm, stream_);
      ASSERT_TRUE(enqueued) << enqueued.error().message;
      ASSERT_EQ(driver().StreamSynchronize(stream_), 0);
      EXPECT_LE(worst(p, o), 1.0) << name << " " << text << " " << (*baseline)->choice();
    }
  }
}

TEST_F(CudaBaselineTest, SearchesPayAndAreRemembered) {
  const Problem p = parse_problem("gemm 1024x1024x4096 f16").value();
  std::vector<Operands> operands;
  std::vector<CudaGemm> sets;
  for (int i = 0; i < 2; ++i) {
    operands.push_back(make(p, static_cast<std::uint64_t>(i)));
    sets.push_back(operands.back().gemm);
  }
  std::vector<std::unique_ptr<CudaBaseline>> baselines;
  std::vector<GraphTimer> timers;
  for (const std::string_view name : kNames) {
    baselines.push_back(libraries_->make(name, p).value());
    CudaBaseline& baseline = *baselines.back();
    ASSERT_TRUE(baseline.prepare(sets));
    timers.push_back(GraphTimer::capture(*context_, stream_, 16, [&](int i, cuda::Stream on) {
                       return baseline.enqueue(sets[static_cast<std::size_t>(i) % sets.size()], on);
                     }).value());
    RecordProperty(std::string(name), baseline.choice());
  }
  EXPECT_THAT(baselines[2]->choice(), HasSubstr("returned"));
  std::vector<double> best(timers.size(), HUGE_VAL);
  for (int round = 0; round < 15; ++round) {
    for (std::size_t i = 0; i < timers.size(); ++i) {
      best[i] = std::min(best[i], timers[i].time_once().value());
    }
  }
  // Not an absolute time: the same kernels in the same minute. 5 % for what a GPU varies by.
  EXPECT_LE(best[2], best[1] * 1.05) << baselines[2]->choice() << "\n" << baselines[1]->choice();
  EXPECT_LE(best[3], best[2] * 1.05) << baselines[3]->choice() << "\n" << baselines[2]->choice();

  const double start = steady_seconds();
  auto again = libraries_->make("cublaslt_neighbours", p).value();
  ASSERT_TRUE(again->prepare(sets));
  EXPECT_LT(steady_seconds() - start, 0.1);  // a search takes at least 0.3 s
  EXPECT_EQ(again->choice(), baselines[3]->choice());

  // And as another process would: by its bytes.
  auto recalled = libraries_->make("cublaslt_autotune", p).value();
  recalled->recall(baselines[3]->algorithm());
  ASSERT_TRUE(recalled->prepare(sets));
  EXPECT_EQ(recalled->algorithm(), baselines[3]->algorithm());
  EXPECT_THAT(recalled->choice(), HasSubstr("as chosen before"));
}

TEST_F(CudaBaselineTest, RefusesAnotherProductThanItsOwn) {
  const Problem p = parse_problem("gemm 64x64x64 f16").value();
  const Operands o = make(p, 1);
  for (const std::string_view name : kNames) {
    auto baseline = libraries_->make(name, p).value();
    ASSERT_TRUE(baseline->prepare({&o.gemm, 1}));
    CudaGemm other = o.gemm;
    other.k = 32;
    EXPECT_THAT(baseline->enqueue(other, stream_).error().message, HasSubstr("k 32"));
  }
  EXPECT_FALSE(libraries_->make("cublass", p));
}

TEST_F(CudaBaselineTest, IsNotRigged) {
  const CudaSelfCheck check = cuda_self_check(*libraries_, *context_);
  EXPECT_TRUE(check.passed) << check.reason << "; " << check.fix;
  EXPECT_GT(check.tflops, 0);
  RecordProperty("tflops", std::to_string(check.tflops));
  RecordProperty("heuristic_over_cublas", std::to_string(check.heuristic_over_cublas));
}

}  // namespace
}  // namespace tilewright
