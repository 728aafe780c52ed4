// SPDX-License-Identifier: Apache-2.0
// See cuda_self_check.h.
#include "baseline/cuda/cuda_self_check.h"

#include "base/element.h"
#include "base/race.h"
#include "base/rng.h"
#include "launch/cuda/graph_timer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace tilewright {
namespace {

constexpr std::array<std::string_view, 3> kShapes = {
    "gemm 512x512x512 f16", "gemm 1024x4096x512 f16", "gemm 4096x4096x4096 f16"};
constexpr double kMostSlower = 1.10;
constexpr RaceRules kRules = {.least_rounds = 7,
                              .most_rounds = 7,
                              .budget_seconds = 0,
                              .first_keep = HUGE_VAL,
                              .keep = HUGE_VAL};
// No divisor of any power of two, so that repeats fall on other rows and columns.
constexpr std::size_t kPattern = 1'000'003;

class Operands {
 public:
  static Result<Operands> make(const cuda::Context& context, const Problem& p) {
    Operands made;
    std::vector<std::uint16_t> pattern(kPattern);
    Rng rng(24);
    for (std::uint16_t& value : pattern) value = f64_to_f16(rng.normal());
    const std::array counts = {p.m * p.k, p.k * p.n, p.m * p.n};
    for (std::size_t i = 0; i < counts.size(); ++i) {
      auto buffer = cuda::Buffer::allocate(context, static_cast<std::size_t>(counts[i]) * 2);
      if (!buffer) return tl::unexpected(buffer.error());
      made.buffers_[i] = std::move(*buffer);
      if (Status s = fill(context, made.buffers_[i], pattern, i * 1000); !s) {
        return tl::unexpected(s.error());
      }
    }
    // A copy from pageable memory may return before it has landed, and other streams do not wait.
    if (Status s = context.synchronize(); !s) return tl::unexpected(s.error());
    made.gemm_ = {.a = made.buffers_[0].address(),
                  .b = made.buffers_[1].address(),
                  .c = made.buffers_[2].address(),
                  .m = p.m,
                  .n = p.n,
                  .k = p.k,
                  .lda = p.a_stride(),
                  .ldb = p.b_stride(),
                  .ldc = p.c_stride(),
                  .stride_a = p.m * p.k,
                  .stride_b = p.k * p.n,
                  .stride_c = p.m * p.n};
    return made;
  }
  const CudaGemm& gemm() const { return gemm_; }

 private:
  // Repeats the pattern, from another place for each matrix.
  static Status fill(const cuda::Context& context, const cuda::Buffer& buffer,
                     const std::vector<std::uint16_t>& pattern, std::size_t from) {
    const cuda::Driver& d = context.driver();
    for (std::size_t at = 0; at < buffer.bytes();) {
      const std::size_t bytes = std::min(buffer.bytes() - at, (pattern.size() - from) * 2);
      if (Status s = d.check(d.MemcpyHtoD(buffer.address() + at, pattern.data() + from, bytes),
                             "uploading operands");
          !s) {
        return s;
      }
      at += bytes;
      from = 0;
    }
    return {};
  }
  std::array<cuda::Buffer, 3> buffers_;
  CudaGemm gemm_;
};

// Preparing compares the heuristic's result with cuBLAS' and asserts the workspaces.
Result<SelfCheckTimes> time_shape(CudaLibraries& libraries, const cuda::Context& context,
                                  cuda::Stream stream, const Problem& problem) {
  const auto operands = Operands::make(context, problem);
  if (!operands) return tl::unexpected(operands.error());
  const CudaGemm& gemm = operands->gemm();
  std::vector<std::unique_ptr<CudaBaseline>> pair;
  std::vector<GraphTimer> timers;
  for (const std::string_view name : {"cublas", "cublaslt_heuristic"}) {
    auto baseline = libraries.make(name, problem);
    if (!baseline) return tl::unexpected(baseline.error());
    if (Status s = (*baseline)->prepare({&gemm, 1}); !s) return tl::unexpected(s.error());
    auto timer =
        GraphTimer::capture(context, stream, calls_per_graph(problem.flop(), problem.bytes()),
                            [&](int, cuda::Stream on) { return (*baseline)->enqueue(gemm, on); });
    if (!timer) return tl::unexpected(timer.error());
    pair.push_back(std::move(*baseline));
    timers.push_back(std::move(*timer));
  }
  const RaceResult result = race(
      2, [&](int i) { return timers[static_cast<std::size_t>(i)].time_once(); }, steady_seconds,
      kRules);
  if (result.order.size() != 2) {
    return fail(ErrorCode::environment,
                fmt::format("a library could not be timed on {}", to_text(problem)));
  }
  return SelfCheckTimes{problem, result.medians[0], result.medians[1]};
}

}  // namespace

CudaSelfCheck judge(const std::vector<SelfCheckTimes>& times) {
  CudaSelfCheck check;
  double sum = 0;
  std::string each;
  for (const SelfCheckTimes& t : times) {
    const double ratio = t.heuristic_seconds / t.cublas_seconds;
    sum += std::log(ratio);
    each += fmt::format("{}{}x{}x{} {:.2f}", each.empty() ? "" : ", ", t.problem.m, t.problem.n,
                        t.problem.k, ratio);
    check.tflops = t.problem.flop() / std::min(t.cublas_seconds, t.heuristic_seconds) / 1e12;
  }
  check.heuristic_over_cublas =
      times.empty() ? 0 : std::exp(sum / static_cast<double>(times.size()));
  check.passed = check.heuristic_over_cublas > 0 && check.heuristic_over_cublas <= kMostSlower;
  if (!check.passed) {
    check.reason = fmt::format(
        "cublasLt's first suggestion takes {:.2f} times as long as cuBLAS (at most {:.2f}): {}",
        check.heuristic_over_cublas, kMostSlower, each);
    check.fix =
        "cuBLAS and cublasLt of different versions, or another program on the device: doctor names "
        "both libraries";
  }
  return check;
}

CudaSelfCheck cuda_self_check(CudaLibraries& libraries, const cuda::Context& context) {
  const auto failed = [](const Error& error) {
    CudaSelfCheck check;
    check.reason = error.message;
    check.fix = error.hint;
    return check;
  };
  const auto stream = cuda::OwnStream::make(context);
  if (!stream) return failed(stream.error());
  std::vector<SelfCheckTimes> times;
  for (const std::string_view shape : kShapes) {
    const auto problem = parse_problem(shape);
    if (!problem) return failed(problem.error());
    const auto timed = time_shape(libraries, context, stream->get(), *problem);
    if (!timed) return failed(timed.error());
    times.push_back(*timed);
  }
  return judge(times);
}

}  // namespace tilewright
